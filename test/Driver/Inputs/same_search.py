"""Compares what a search left with what its replay left: reports or trajectories (JSON).

They are equal but for who answered: what the journal is bound to, and how much of it this run found
in its journal.

usage: same_search.py FILE OTHER
"""
import json
import sys

MAKERS = {"worker", "default lowering", "oracle", "C compiler", "evaluator", "cassette"}


def read(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for search in report.get("workloads", [report]):
        search["search"] = {name: value for name, value in search["search"].items()
                            if name not in MAKERS}
        del search["costs"]["replayed"]
    return json.dumps(report, indent=1)


one, other = (read(path) for path in sys.argv[1:3])
for number, (was, now) in enumerate(zip(one.splitlines(), other.splitlines()), 1):
    if was != now:
        sys.exit(f"line {number} was '{was.strip()}' and is '{now.strip()}'")
if one != other:
    sys.exit("one is longer")
print("the same search")
