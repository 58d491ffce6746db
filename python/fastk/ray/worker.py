# ===- worker.py - The actor: one fastk-worker on one GPU -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===--------------------------------------------------------------------===#
"""The actor of the cluster's nodes. Ray sends it there by value: a node needs Ray and
fastk-worker, not this package. So this file imports the standard library alone."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time

#: How long an actor waits for the worker that had its GPU before to end, in seconds.
GPU_PATIENCE = 30


class Worker:
    """Answers jobs by a fastk-worker of its own: one at a time, on one GPU.

    `program` names fastk-worker, or is None: then it is $FASTK_WORKER of the node, the
    fastk package's own, or that in PATH. `rehearsal` is an answered spool on the node, or
    None. Raises RuntimeError where the node cannot evaluate.
    """

    def __init__(self, program, rehearsal):
        # Ray's processes are nice; times are taken here.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        self.program = find_worker(program)
        self.rehearsal = rehearsal
        remove_left_folders()
        self.folder = tempfile.mkdtemp(prefix=f"fastk-ray-{os.getpid()}-")
        self.gpus = visible_gpus()
        self.locks = [hold_gpu(gpu) for gpu in self.gpus]
        self.process = None

    def describe(self):
        """(what people call this worker, what its fastk-worker is)."""
        version = subprocess.run(
            [self.program, "--version"], capture_output=True, text=True, check=True
        )
        place = f"GPU {','.join(self.gpus)}" if self.gpus else f"process {os.getpid()}"
        return f"{os.uname().nodename} {place}", version.stdout.strip()

    def answer(self, name, files):
        """What became of the job `name`, whose folder has these `files` (name: bytes):
        ("answered", the verdict), ("left", why this node cannot), ("busy", why its GPU
        takes no job now) or ("ended", how the worker ended at the job)."""
        folder = os.path.join(self.folder, os.path.basename(name))
        try:
            os.mkdir(folder)
            for file, content in files.items():
                with open(os.path.join(folder, os.path.basename(file)), "wb") as to:
                    to.write(content)
            word, reason = self.ask(name)
            if word != "answered":
                return word, reason
            with open(os.path.join(folder, "verdict.json"), "rb") as verdict:
                return word, verdict.read()
        except OSError as error:
            return "busy", f"{error.strerror}: {error.filename or self.folder}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def ask(self, name):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line.endswith("\n"):
            return "ended", self.end()
        word, _, reason = line.strip().partition(": ")
        return word, reason

    def start(self):
        command = [self.program, "--spool", self.folder, "--serve"]
        if self.rehearsal:
            command.append(f"--rehearse={self.rehearsal}")
        # It ends with this process, and has the GPU's lock until then: an actor that is
        # made in this one's place waits for it. What it says is in Ray's logs.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=self.locks,
        )

    def end(self):
        """Reaps the worker; returns how it ended."""
        process, self.process = self.process, None
        process.kill()
        code = process.wait()
        process.stdin.close()
        process.stdout.close()
        if code < 0:
            return f"fastk-worker ended by {signal.Signals(-code).name}"
        return f"fastk-worker ended with exit code {code}"


def find_worker(program):
    """The path of this node's fastk-worker."""
    named = program or os.environ.get("FASTK_WORKER")
    found = shutil.which(named or "fastk-worker")
    if not found and not named:
        try:
            from fastk import programs

            found = programs.own("bin", "fastk-worker")
        except ImportError:
            pass
    if not found:
        raise RuntimeError(
            f"{os.uname().nodename} has no {named or 'fastk-worker'}: install fastk's wheel "
            "in the Python of its Ray, or name the program by FASTK_WORKER in the "
            "environment of `ray start`"
        )
    return found


def visible_gpus():
    """The GPUs that Ray gave to this actor, as CUDA_VISIBLE_DEVICES calls them."""
    import ray

    return [str(gpu) for gpu in ray.get_gpu_ids()]


def hold_gpu(gpu):
    """A lock of the node's GPU, an open file: no two workers measure there at once."""
    path = os.path.join(
        tempfile.gettempdir(), f"fastk-gpu-{os.path.basename(gpu)}.lock"
    )
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock = os.open(path, flags, 0o666)
    end = time.monotonic() + GPU_PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(lock)
                raise RuntimeError(
                    f"another worker of fastk has GPU {gpu} of {os.uname().nodename}"
                ) from None
            time.sleep(0.1)


def remove_left_folders():
    """Removes what actors that were killed have left on this node."""
    root = tempfile.gettempdir()
    for name in os.listdir(root):
        if not name.startswith("fastk-ray-"):
            continue
        path = os.path.join(root, name)
        try:
            os.kill(int(name.split("-")[2]), 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (OSError, ValueError, IndexError):
            pass
