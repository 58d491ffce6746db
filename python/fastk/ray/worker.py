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
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

#: How long an actor waits for the worker that had its GPU before to end, in seconds.
GPU_PATIENCE = 30
#: Seconds that a GPU is left alone before a worker begins there.
SETTLE_SECONDS = 1


class Worker:
    """Answers jobs by a fastk-worker of its own: one at a time, on one GPU.

    `program` names fastk-worker, or is None: then it is $FASTK_WORKER of the node, the
    fastk package's own, or that in PATH. `rehearsal` is an answered spool on the node, or
    None. Raises RuntimeError where the node cannot evaluate. Until it begins it has no
    hold on the GPU, for it may be the spare of the actor that has.
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
        version = subprocess.run(
            [self.program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
        )
        self.version = version.stdout.strip()
        self.locks, self.process = [], None
        #: The job that is to follow, and the GPUs' rates that it was told or has told.
        self.following, self.canaries = None, {}
        self.takes_following = True

    def begin(self):
        """Takes the GPU. Returns (what people call this worker, what its fastk-worker is)."""
        self.locks = [hold_gpu(gpu) for gpu in self.gpus]
        if self.gpus and not self.rehearsal:
            # Processes of the worker before have no lock, and the driver takes a while
            # to end what a killed one has on the GPU.
            time.sleep(SETTLE_SECONDS)
        # By the time of the first job it may be there.
        self.start()
        place = f"GPU {','.join(self.gpus)}" if self.gpus else f"process {os.getpid()}"
        return f"{os.uname().nodename} {place}", self.version

    def answer(self, name, files, following=None, canaries=None):
        """What became of the job `name`, whose folder has these `files` (name: bytes), and
        what GPUs' rates its worker has written that are new:
        ("answered", the verdict), ("left", why this node cannot), ("busy", why its GPU
        takes no job now) or ("ended", how the worker ended at the job). Raises
        FileNotFoundError where what this actor lives on is gone: its folder, its program.
        Meanwhile the worker compiles the candidate of the job that comes next, `following`,
        (name, files), or None; it knows the rates `canaries` of others by then."""
        word, what = self.try_to_answer(name, files, following, canaries or {})
        known, self.canaries = self.canaries, canaries_in(self.folder)
        news = {
            gpu: rates for gpu, rates in self.canaries.items() if known.get(gpu) != rates
        }
        return word, what, news

    def try_to_answer(self, name, files, following, canaries):
        if self.following not in (None, name):
            shutil.rmtree(self.folder_of(self.following), ignore_errors=True)
        self.following = following and following[0]
        try:
            self.write(name, files)
            # What only helps must not keep the job from being judged.
            with contextlib.suppress(OSError):
                if following:
                    self.write(*following)
                add_canaries(self.folder, canaries)
            self.canaries |= canaries
            word, reason = self.ask(name)
            if word != "answered":
                return word, reason
            path = os.path.join(self.folder_of(name), "verdict.json")
            with open(path, "rb") as verdict:
                return word, verdict.read()
        except FileNotFoundError:
            raise
        except OSError as error:
            return "busy", f"{error.strerror}: {error.filename or self.folder}"
        finally:
            shutil.rmtree(self.folder_of(name), ignore_errors=True)

    def folder_of(self, job):
        return os.path.join(self.folder, os.path.basename(job))

    def write(self, job, files):
        folder = self.folder_of(job)
        # Of one that was to follow some are there.
        if not os.path.exists(folder):
            os.mkdir(folder)
        for file, content in files.items():
            path = os.path.join(folder, os.path.basename(file))
            # A job's name is of its content, and the worker may be reading it.
            if os.path.exists(path) and os.path.getsize(path) == len(content):
                continue
            with open(path, "wb") as to:
                to.write(content)

    def ask(self, name):
        if self.following and self.takes_following:
            word, reason = self.ask_line(f"{name} {self.following}")
            if word != "left":
                return word, reason
            # An older worker takes the line for one name, and looks for its folder.
            again, answer = self.ask_line(name)
            if again == "left":
                return word, reason
            self.takes_following = False
            return again, answer
        return self.ask_line(name)

    def ask_line(self, line):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(line + "\n")
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
            errors="replace",
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


def canaries_in(folder):
    """{MODEL/GPU.json: content}: GPUs' rates, as workers at a spool write them (Canary.h)."""
    root = pathlib.Path(folder, ".canaries")
    found = {}
    for path in root.glob("*/*.json"):
        with contextlib.suppress(OSError):
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def add_canaries(folder, canaries):
    """Writes such rates for the workers at a folder."""
    for name, rates in canaries.items():
        # They come from other machines.
        if not re.fullmatch(r"[\w-]+/[\w-]+\.json", name):
            continue
        path = os.path.join(folder, ".canaries", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.ray", "wb") as file:
            file.write(rates)
        os.replace(f"{path}.ray", path)


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
    """A lock of the node's GPU, an open file: no two workers measure there at once, whoever
    started them."""
    path = os.path.join(
        tempfile.gettempdir(), f"fastk-gpu-{os.path.basename(gpu)}.lock"
    )
    end = time.monotonic() + GPU_PATIENCE
    while True:
        try:
            lock = open_lock(path)
        except PermissionError:
            # Or it was made this moment, and is not open to all yet.
            problem = f"{path} is a file of {owner_of(path)} that only they may read"
        else:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                problem = f"another worker of fastk has it, {holder_of(lock)} ({path})"
                os.close(lock)
        if time.monotonic() > end:
            raise RuntimeError(f"GPU {gpu} of {os.uname().nodename}: {problem}")
        time.sleep(0.1)


def open_lock(path):
    """The file, which may be another user's: no right to write is asked for, and none to
    create a file that is there, which the kernel refuses in a folder as /tmp."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY | flags)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
    except FileExistsError:
        return os.open(path, os.O_RDONLY | flags)
    # Whatever the umask is.
    os.fchmod(lock, 0o666)
    return lock


def holder_of(lock):
    """Who has the lock of this open file, as far as this process may know."""
    inode = f":{os.fstat(lock).st_ino}"
    with contextlib.suppress(OSError), open("/proc/locks", encoding="utf-8") as locks:
        for line in locks:
            fields = line.split()
            if "FLOCK" in fields and "->" not in fields and fields[5].endswith(inode):
                process = fields[4]
                with contextlib.suppress(OSError):
                    return f"process {process} of {owner_of(f'/proc/{process}')}"
                # What it has started has the lock as well.
                return f"what process {process} started"
    return "a process that is not seen from here"


def owner_of(path):
    """The name of the file's owner."""
    owner = os.stat(path).st_uid
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"user {owner}"


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
