"""Answers what rouge-score and NLTK make of words and texts.

Reads one JSON object from standard input: "words", a list of words to stem, and "pairs", a list of
[candidate, reference]. Writes one JSON object: "stems", and "scores", for each pair precision, recall and F1
of ROUGE-1 with stemming. Numbers are written as text, so that no bit of them is lost on the way.
"""

import json
import sys

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer


def main() -> None:
    asked = json.load(sys.stdin)
    stemmer = PorterStemmer()
    scorer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True)
    scores = []
    for candidate, reference in asked["pairs"]:
        score = scorer.score(reference, candidate)["rouge1"]
        scores.append([repr(float(part)) for part in (score.precision, score.recall, score.fmeasure)])
    answer = {"stems": [stemmer.stem(word) for word in asked["words"]], "scores": scores}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
