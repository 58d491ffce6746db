"""Changes the verdicts of a spool as a later worker might have written them:
later_verdicts.py SPOOL fields | format

"fields" adds some to each object, "format" says that the first one is of format 2, and keeps what
it was in `kept`. Prints how many were changed.
"""

import glob
import json
import sys


def with_fields(value):
    if isinstance(value, list):
        return [with_fields(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: with_fields(each) for name, each in value.items()} | {"later": {"a": [1]}}


paths = sorted(glob.glob(f"{sys.argv[1]}/job-*/verdict.json"))
if sys.argv[2] == "format":
    paths = paths[:1]
for path in paths:
    with open(path, encoding="utf-8") as file:
        verdict = json.load(file)
    if sys.argv[2] == "format":
        with open(path.replace("verdict.json", "kept"), "w", encoding="utf-8") as file:
            json.dump(verdict, file)
        verdict["format"] = 2
    with open(path, "w", encoding="utf-8") as file:
        json.dump(with_fields(verdict), file)
print(len(paths), "changed")
