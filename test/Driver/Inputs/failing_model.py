"""A language model for the workload of int_matmul/model.mlir that works, or fails as it is told to.

usage: failing_model.py work|exit|garbage|ideas LOG < PROMPT

It adds a line to LOG each time it is asked. `ideas` has ideas and no programs.
"""
import json
import os
import sys

HOW, LOG = sys.argv[1:]

#: The one of the variants that are files.
KERNEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "int_matmul/variants/rows/kernel.c")


def main():
    wants_ideas = '{"ideas":' in sys.stdin.read()
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("ideas\n" if wants_ideas else "program\n")
    if HOW == "exit":
        sys.exit("no credit is left on this account")
    if HOW == "garbage" or (HOW == "ideas" and not wants_ideas):
        print("I would rather talk of something else.")
    elif wants_ideas:
        print(json.dumps({"ideas": [
            {"title": "Rows", "category": "memory access", "parent": "none",
             "text": "The inner loop runs along contiguous memory.",
             "expected_gain": "2x, because."}]}))
    else:
        with open(KERNEL, encoding="utf-8") as kernel:
            print(f"```c\n{kernel.read()}```")


main()
