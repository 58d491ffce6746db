# ===- test_kernelbench_turns.py - Who works on the device -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Processes that measure side by side, of which one at a time has the device."""

import concurrent.futures
import json
import os
import subprocess
import sys

import pytest
from conftest import PYTHON

from fastk.kernelbench import turns

#: Says when it had which turn, and the longest that it stood still in between. Begins once
#: $MANY of them have started, of which each makes a file in $TOGETHER.
CHILD = """
import json, os, sys, time
from fastk.kernelbench import turns
turn = turns.Asker(1, 0)
if together := os.environ.get("TOGETHER"):
    open(os.path.join(together, str(os.getpid())), "x").close()
    while len(os.listdir(together)) < int(os.environ["MANY"]):
        time.sleep(0.01)
said, still = {}, 0.0

def work(seconds):
    global still
    end = last = time.monotonic()
    end += seconds
    while last < end:
        now = time.monotonic()
        still = max(still, now - last)
        last = now

work(0.05)
for name in ("device", "alone"):
    turn(name)
    begin = time.monotonic()
    work(0.3)
    said[name] = [begin, time.monotonic()]
turn("none")
still = 0.0
work(0.7)
os.write(1, json.dumps({"status": "ok", **said, "still": still}).encode() + b"\\n")
"""


def serve(served, text, limit=60.0):
    def start():
        return subprocess.Popen(
            [sys.executable, "-c", text],
            start_new_session=True,
            env=dict(os.environ, PYTHONPATH=str(PYTHON)),
            **turns.PIPES,
        )

    with served.start(start) as process:
        try:
            return served.serve(process, limit)
        finally:
            process.kill()


def test_one_has_the_device_and_who_is_alone_runs_alone(tmp_path, monkeypatch):
    # Who starts late would find the first at its end, and leave it alone.
    monkeypatch.setenv("TOGETHER", str(tmp_path))
    monkeypatch.setenv("MANY", "3")
    served = turns.Turns()
    text = CHILD.replace("work(0.7)", "work(2)")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda _: serve(served, text), range(3)))
    spans = sorted(span for each in said for span in (each["device"], each["alone"]))
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        assert end <= begin
    # Who was first worked on when it was done, and stood still for the others.
    first = min(said, key=lambda each: each["alone"])
    assert first["still"] > 0.25, json.dumps(said)


def test_who_ends_without_an_answer_leaves_the_device():
    served = turns.Turns()
    dying = "from fastk.kernelbench import turns\nturns.Asker(1, 0)('alone')\n"
    assert serve(served, dying) is None
    assert serve(served, CHILD)["status"] == "ok"


def test_waiting_does_not_count():
    served = turns.Turns()
    text = CHILD.replace("work(0.3)", "work(1.5)")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        # Three times 3 s with the device, which is more than 9 s with what each has besides:
        # 3.8 s of its own, which leaves 5 s for a slow start.
        said = list(pool.map(lambda _: serve(served, text, 9), range(3)))
    assert len(said) == 3


def test_a_limit():
    with pytest.raises(TimeoutError):
        serve(turns.Turns(), "while True:\n    pass\n", 0.5)
