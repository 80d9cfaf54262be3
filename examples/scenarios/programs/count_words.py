"""A tool: reads its arguments as JSON from standard input and writes its result as JSON to standard output."""

import json
import os
import sys

args = json.load(sys.stdin)
folder = os.environ["REHEARSAL_FOLDER"]

with open(os.path.join(folder, args["file"]), encoding="utf-8") as draft:
    words = sum(len(line.split()) for line in draft if not line.startswith("#"))

with open(os.path.join(folder, "counts.txt"), "a", encoding="utf-8") as counts:
    print(f"{args['file']}: {words}", file=counts)

json.dump({"words": words}, sys.stdout)
