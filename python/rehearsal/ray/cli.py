"""The `rehearse-ray` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rehearsal.errors import NOT_SET_UP, RehearsalError
from rehearsal.ray.leases import Limits
from rehearsal.ray.spread import ATTEMPTS, PartsFailed, Plan, Spread

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_EPILOG = """\
All other words are those of `rehearse run`: paths, relative to this folder, and options such as --repeat 5 or --model
agent=openai:gpt-4o. The files of this folder (or of --root), but those that begin with a dot, are sent to the nodes;
each node needs `pip install 'agent-rehearsal[ray]'` of this version. A part whose node dies is run again elsewhere.

Exit codes: 0 all passed; 1 something did not pass; 2 the input or set-up is wrong; 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    parsed, words = _parser().parse_known_args(arguments)
    if not words:
        print("error: no scenario is named\n\nhint: rehearse-ray PATH… --address auto", file=sys.stderr)
        return NOT_SET_UP
    quiet = bool(parsed.quiet)
    plan = Plan(
        words=words,
        shards=parsed.shards,
        address=parsed.address,
        root=parsed.root,
        store=parsed.store,
        name=parsed.name,
        cpus=parsed.cpus,
        attempts=parsed.attempts,
        parts=parsed.parts,
        pass_on=parsed.env,
        limits=Limits(parsed.max_tokens, parsed.max_cost, parsed.max_time, parsed.max_calls),
        tell=lambda line: None if quiet else print(line, file=sys.stderr),
    )
    spread = Spread(plan)
    try:
        spread.result(_merge_words(parsed), shown=True)
    except PartsFailed as problem:
        print(problem if str(problem).startswith("error:") else f"error: {problem}", file=sys.stderr)
        return problem.code
    except RehearsalError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return NOT_SET_UP
    return NOT_SET_UP if spread.exit_code is None else spread.exit_code


def _merge_words(parsed: argparse.Namespace) -> list[str]:
    words: list[str] = []
    for option in ("json", "junit", "out", "color"):
        if (value := getattr(parsed, option)) is not None:
            words += [f"--{option}", str(value)]
    return words + [f"--{flag}" for flag in ("events", "reports", "quiet", "verbose") if getattr(parsed, flag)]


def _time(text: str) -> float:
    for unit, seconds in _SECONDS.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return float(number) * seconds
    raise argparse.ArgumentTypeError(f"{text} is no time, such as 90s, 5m or 2h")


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is no number from 1")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rehearse-ray",
        usage="rehearse-ray PATH… [--address ADDRESS] [--shards N] [options of `rehearse run`]",
        description="Run scenarios on a Ray cluster, as one run in one store.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--address", help="the cluster, such as auto or HOST:6379 (default: RAY_ADDRESS, else one on this machine)")
    add("--shards", type=_positive, metavar="N", help="how many parts (default: four for each that can run at once)")
    add("--cpus", type=float, default=1.0, metavar="N", help="how many processors a part takes (default: 1)")
    add("--root", type=Path, metavar="DIR", help="the folder that is sent to the nodes (default: this one)")
    add(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable that the nodes are to have, such as a key",
    )
    add("--attempts", type=_positive, default=ATTEMPTS, metavar="N", help="how often a part is begun at most")
    add("--parts", type=Path, metavar="DIR", help="keep the parts here; those that are there are not run again")
    add("--max-tokens", type=_positive, metavar="N", help="the most tokens of all parts together")
    add("--max-cost", type=float, metavar="USD", help="the most US dollars of all parts together")
    add("--max-time", type=_time, metavar="TIME", help="the longest time of the run, such as 90s or 2h")
    add("--max-calls", type=_positive, metavar="N", help="the most calls of models at once, on all nodes together")
    add("--store", metavar="FILE|URL", help="where the run is kept (default: as `rehearse run` has it)")
    add("--name", help="what to call the run in lists")
    add("--json", metavar="FILE|-", help="write the results as JSON")
    add("--junit", metavar="FILE", help="write the results as JUnit XML")
    add("--out", metavar="DIR", help="also write results and ledgers as files into a folder")
    add("--color", metavar="WHEN", help="when to use colours")
    for flag in ("events", "reports"):
        add(f"--{flag}", action="store_true", help=f"put {flag} into the JSON as well")
    add("-q", "--quiet", action="store_true", help="print only what did not pass")
    add("-v", "--verbose", action="store_true", help="print all transcripts and evaluations")
    return parser
