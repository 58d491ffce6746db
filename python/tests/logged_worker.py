#!/usr/bin/env python3
# ===- logged_worker.py - A fastk-worker that is watched -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------===#
"""What nodes of the tests' Ray clusters have for a fastk-worker: the real one, whose jobs go
through here. Beside the spool that is rehearsed it writes what it does to `log`, a line each
("begin JOB TIME PROCESS", "overlap ..." where another worker is at work on its GPU,
"follows ..." of a candidate that it has before its turn, "knows GPUS ..." of rates), and dies
at the job that the file `poison` names. While there is a file `hold` no job goes on, nor is
an answer given. Its GPU's
rates, of the model "made-up", are none. $REAL_FASTK_WORKER is the real one."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

REAL = os.environ["REAL_FASTK_WORKER"]
ACTOR = os.getppid()


def wait_while(path):
    """As long as there is a file, and the actor that started this."""
    while path.exists():
        if os.getppid() != ACTOR:
            sys.exit("its actor is gone")
        time.sleep(0.02)


def serve(beside):
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    lock = os.open(beside / f"gpu-{gpu}.lock", os.O_CREAT | os.O_RDWR)

    def log(word, job):
        with open(beside / "log", "a", encoding="utf-8") as file:
            file.write(f"{word} {job} {time.time()} {os.getpid()}\n")

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log("overlap", "none")
    poison = beside / "poison"
    spool = pathlib.Path(sys.argv[sys.argv.index("--spool") + 1])
    rates = spool / ".canaries" / "made-up"
    rates.mkdir(parents=True, exist_ok=True)
    # The real one has the lock until it has ended, too.
    with subprocess.Popen(
        [REAL, *sys.argv[1:]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(lock,),
    ) as worker:
        for line in sys.stdin.buffer:
            job, *others = line.decode().split()
            log("begin", job)
            for other in others:
                if (spool / other / "candidate.cu").exists():
                    log("follows", other)
            log("knows", ",".join(sorted(path.stem for path in rates.iterdir())) or "-")
            (rates / f"gpu-{gpu}.json").write_text("{}")
            if poison.exists() and poison.read_text() == job:
                os.kill(os.getpid(), signal.SIGKILL)
            wait_while(beside / "hold")
            worker.stdin.write(line)
            worker.stdin.flush()
            said = worker.stdout.readline()
            wait_while(beside / "hold")
            sys.stdout.buffer.write(said)
            sys.stdout.buffer.flush()


rehearsed = [word for word in sys.argv if word.startswith("--rehearse=")]
if not rehearsed:
    os.execv(REAL, [REAL, *sys.argv[1:]])
serve(pathlib.Path(rehearsed[0].partition("=")[2]).parent)
