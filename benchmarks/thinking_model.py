# ===- thinking_model.py - A language model that only takes its time -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Answers a mailbox as a language model would that thinks for a fixed time before each reply.

    python3 benchmarks/thinking_model.py MAILBOX --seconds 20 -- \\
        fastk-opt model.mlir --search --write=programs '--proposer=mailbox:MAILBOX?wait=60' ...

Runs the command, a search that waits for the mailbox, perhaps through simulated_workers.py. All prompts
are thought about at once, each from when it is seen. Replies are ideas, and programs in CUDA-C with their
plans, which a search takes for candidates; whoever evaluates must only take their time, too, for they
compute nothing. Each differs by its prompt's name, so a search always gets the same. They declare no numbers to be
tuned: each evaluation is of a reply.

Prints a row as JSON: how many replies there were, how many prompts were thought about at once at most, the
seconds in which any was, and those of the command. With --spool also `busy_while_thinking`: of the seconds in which
any was, from the first job on, the part in which a worker was at one, as the times of its files tell.
"""

import argparse
import glob
import heapq
import json
import os
import re
import subprocess
import sys
import time

#: How often the folder is looked at, in seconds.
PAUSE = 0.05

#: How names of prompts for ideas end; all others ask for programs.
IDEAS = re.compile(r"-round-\d+-ideas(-again)?$")

CATEGORIES = ["memory access", "compute and instructions", "parallelism", "latency", "control flow"]

PROGRAM = """extern "C" __global__ void copy(const unsigned char *in, unsigned char *out) {{
  out[threadIdx.x] = in[threadIdx.x] ^ {number};
}}
"""
PLAN = {"format": 1, "steps": [
    {"launch": "copy", "grid": [1], "block": [64], "arguments": ["in0", "out0"]}]}  # fmt: skip


def ideas(digest):
    """More than are asked for, with titles and texts that no other prompt gets; a search takes as many as it wants."""
    return json.dumps({"ideas": [
        {"title": f"copy {digest} {i}", "category": CATEGORIES[i % len(CATEGORIES)], "parent": "none",
         "expected_gain": "none", "text": f"Copies by {digest}, number {i}."} for i in range(32)]})  # fmt: skip


def program(digest):
    code = PROGRAM.format(number=f"0x{digest[:7]}")
    return f"```cuda\n{code}```\n\n```json\n{json.dumps(PLAN)}\n```\n"


class Model:
    """Everything that is asked of it, by when it has thought enough."""

    def __init__(self, box, seconds):
        self.box, self.seconds = box, seconds
        self.seen, self.thinking = set(), []
        self.replies, self.most, self.busy = 0, 0, 0.0
        self.last = None

    def look(self, now):
        """Takes in what is new."""
        try:
            names = os.listdir(self.box)
        except FileNotFoundError:
            return
        for file in names:
            found = re.fullmatch(r"(.*)-([0-9a-f]{12})\.prompt\.md", file)
            if not found or file in self.seen:
                continue
            self.seen.add(file)
            if not os.path.exists(self.answer_of(file)):
                heapq.heappush(self.thinking, (now + self.seconds, file, *found.groups()))

    def answer_of(self, file):
        return os.path.join(self.box, file.replace(".prompt.md", ".answer.md"))

    def answer(self, file, name, digest):
        reply = ideas(digest) if IDEAS.search(name) else program(digest)
        # It counts as soon as its file is there.
        temporary = os.path.join(self.box, ".answer")
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(reply)
        os.rename(temporary, self.answer_of(file))
        self.replies += 1

    def step(self, now):
        """Says what has been thought about for long enough, and begins with what is new."""
        if self.thinking and self.last is not None:
            self.busy += now - self.last
        self.last = now
        while self.thinking and self.thinking[0][0] <= now:
            self.answer(*heapq.heappop(self.thinking)[1:])
        self.look(now)
        self.most = max(self.most, len(self.thinking))

    def row(self):
        return {"seconds_a_reply": self.seconds, "replies": self.replies, "prompts_at_once": self.most,
                "thinking_seconds": round(self.busy, 2)}  # fmt: skip


def merged(spans):
    """Spans of time as such that do not meet."""
    result = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def spans_of(paths, end_of):
    """From when each of the files was written to when the one was that ends it; without those that have no end."""
    ends = [(path, end_of(path)) for path in paths]
    return merged((os.path.getmtime(path), os.path.getmtime(end)) for path, end in ends if os.path.exists(end))


def busy_while_thinking(box, spool):
    """Of the time in which the model thinks, from the first job on, the part in which there is a job at work."""
    jobs = spans_of(glob.glob(os.path.join(glob.escape(spool), "job-*", "claim-1")),
                    lambda path: os.path.join(os.path.dirname(path), "verdict.json"))  # fmt: skip
    thinking = spans_of(glob.glob(os.path.join(glob.escape(box), "*.prompt.md")),
                        lambda path: path.replace(".prompt.md", ".answer.md"))  # fmt: skip
    if not jobs:
        return None
    thinking = [(max(begin, jobs[0][0]), end) for begin, end in thinking if end > jobs[0][0]]
    both = sum(max(0.0, min(end, other_end) - max(begin, other))
               for begin, end in thinking for other, other_end in jobs)  # fmt: skip
    whole = sum(end - begin for begin, end in thinking)
    return round(both / whole, 3) if whole else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("mailbox")
    add("--seconds", type=float, default=20, help="what it thinks before each reply (default 20)")
    add("--spool", help="where the search has its jobs, to tell when workers were at one")
    add("command", nargs="+", help="a search that waits for the mailbox")
    options = parser.parse_args()
    model = Model(options.mailbox, options.seconds)
    start = time.monotonic()
    with subprocess.Popen(options.command) as search:
        while search.poll() is None:
            model.step(time.monotonic())
            time.sleep(PAUSE)
    row = model.row() | {"exit": search.returncode, "seconds": round(time.monotonic() - start, 2)}
    if options.spool:
        row["busy_while_thinking"] = busy_while_thinking(options.mailbox, options.spool)
    print(json.dumps(row))
    return 0 if search.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
