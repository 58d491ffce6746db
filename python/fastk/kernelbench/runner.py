# ===- runner.py - All steps of all problems -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Imports, compiles and measures problems, each step in a process with a limit."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ..importer import files
from ..reasons import shorten
from . import rows as results
from . import turns


class Runner:
    """Runs the steps of problems and keeps what they say in `rows`.

    Args:
      rows: the Rows to add to.
      folder: where models and libraries go, a folder a problem.
      fastk_opt: the program, a path.
      target: as of fastk-opt.
      banks: folders of winners.
      limit: seconds of one step.
      budget: seconds of a run, or None: what is not done then is left to the next.
      commit: fastk's own, or None; each row names it.
      choices: {option: value}, more of fastk-opt.
    """

    def __init__(self, rows, folder, fastk_opt, target, banks=(), limit=300.0,
                 budget=None, commit=None, choices=None):  # fmt: skip
        self.rows, self.folder, self.limit = rows, folder, limit
        self.budget, self.commit = budget, commit
        self.fastk_opt, self.target, self.banks = fastk_opt, target, list(banks)
        self.choices = choices or {}
        self.running, self.lock, self.stopped = set(), threading.Lock(), False
        self.turns, self.jobs, self.to_be_alone = turns.Turns(), 1, []
        self.measurers = []

    def run(self, problems, steps, made_by, again=(), jobs=1, progress=lambda text: None):
        """Runs what is wanted, `jobs` at a time; what is timed is timed alone.
        `made_by`: {step: what its results depend on}."""
        before = [step for step in steps if step != "measure"]
        spent = threading.Timer(self.budget or 0, self._stop)
        if self.budget:
            spent.start()
        try:
            if before:
                self._at_a_time(jobs, problems, before, made_by, again, progress)
            if "measure" in steps:
                self._at_a_time(jobs, problems, ["measure"], made_by, again, progress)
                # No result depends on how much memory neighbours had.
                alone, self.to_be_alone = self.to_be_alone, []
                self._at_a_time(1, alone, ["measure"], made_by, again, progress)
        finally:
            spent.cancel()
            while self.measurers:
                self._end(self.measurers.pop())
            self.rows.write()

    def _at_a_time(self, jobs, problems, steps, made_by, again, progress):
        self.jobs = jobs
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = [
                pool.submit(self._steps, each, steps, made_by, again, progress)
                for each in problems
            ]
            try:
                for future in concurrent.futures.as_completed(futures):
                    future.result()
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _stop(self):
        """Ends what runs; nothing new begins."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                _kill(process)

    def _steps(self, problem, steps, made_by, again, progress):
        digest = problem.digest()
        for step in steps:
            if self.stopped:
                return
            index = results.STEPS.index(step)
            if index:
                earlier = self.rows.step(problem.name, results.STEPS[index - 1])
                if not earlier or earlier["status"] != "ok":
                    return
            if not self.rows.wants(problem, step, digest, made_by[step], again):
                continue
            folder = os.path.join(self.folder, problem.name)
            os.makedirs(folder, exist_ok=True)
            start = time.monotonic()
            said = getattr(self, f"_{step}")(problem, folder)
            if self.stopped:
                return
            if step == "measure" and self._is_to_be_alone(said):
                self.to_be_alone.append(problem)
                progress(f"{problem.name}: measure ends beside others, and comes again alone")
                return
            said["seconds"] = round(time.monotonic() - start, 2)
            said["made_by"] = made_by[step]
            if self.commit:
                said["commit"] = self.commit
            with self.lock:
                self.rows.add(problem, step, digest, said)
                self.rows.write()
            progress(f"{problem.name}: {step} {said['status']}, {said['seconds']:.1f} s"
                     + (f": {said['reason']}" if said.get("reason") else ""))  # fmt: skip

    def _is_to_be_alone(self, said):
        """Whether neighbours may be the reason for what was said."""
        short_of_memory = said.pop("short_of_memory", False)
        blameless = said.pop("not_for_neighbours", False)
        failed = said["status"] in ("fail", "crash")
        return self.jobs > 1 and (short_of_memory or (failed and not blameless))

    def _import(self, problem, folder):
        code, out, err, used = self._call([*_STAGE, "import", problem.path, folder])
        if code is None:
            return self._timeout()
        with contextlib.suppress(ValueError, IndexError):
            return _shortened(json.loads(out.strip().splitlines()[-1])) | used
        return {"status": "crash", "reason": _ending(code, err)}

    def _measure(self, problem, folder):
        for name in ("model.so", "model.mlir.json"):
            if not os.path.isfile(os.path.join(folder, name)):
                return {"status": "fail", "not_for_neighbours": True, "reason":
                        f"{problem.name}/{name} is not in the results: bring it, or compile "
                        "again with --again all --steps compile"}  # fmt: skip
        process = None
        accepts = (self.rows.step(problem.name, "compile") or {}).get("precision", "ieee")

        def start():
            nonlocal process
            process = self._measurer()
            if process:
                request = {"problem": problem.path, "folder": folder, "accepts": accepts}
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
            return process

        try:
            ended = self.turns.start(start) and self.turns.serve(process, self.limit)
        except BrokenPipeError:
            ended = None
        except TimeoutError:
            self._end(process)
            return self._timeout()
        if ended:
            with self.lock:
                self.measurers.append(process)
            if ended["said"]:
                return _shortened(ended["said"])
            return {"status": "crash", "reason": _ending(ended["code"], ended["stderr"])}
        if not process:
            return self._timeout()
        self._end(process)
        return {"status": "crash", "reason": _ending(process.returncode, _text(process.err))}

    def _measurer(self):
        """A process of stage.py that waits for a problem; None where nothing begins."""
        with self.lock:
            if self.measurers:
                return self.measurers.pop()
        environment = dict(os.environ)
        # Else each process keeps as many compilers as there are cores, which a fork
        # of it does not have.
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        err = tempfile.TemporaryFile()
        process = self._start([*_STAGE, "measure"], stderr=err, env=environment, **turns.PIPES)
        if process:
            process.err = err
        return process

    def _compile(self, problem, folder):
        """model.mlir to model.so."""
        command = [self.fastk_opt, "model.mlir", f"--target={self.target}"]
        command += [f"--bank={os.path.abspath(bank)}" for bank in self.banks]
        command += [f"--{name}={value}" for name, value in self.choices.items()]
        command += ["--emit=so", "-o", "model.so"]
        code, _, err, used = self._call(command, cwd=folder)
        if code is None:
            return self._timeout()
        if code < 0:
            return {"status": "crash", "reason": _ending(code, err)}
        if code:
            return {"status": "fail", "reason": shorten(err)}
        said = {"status": "ok", **used}
        if "precision" in self.choices:
            said["precision"] = self.choices["precision"]
        found = re.search(r"(\d+) workloads?: (\d+) hits?", err)
        if found:
            said |= {"workloads": int(found[1]), "hits": int(found[2])}
        return said

    def _timeout(self):
        return {"status": "timeout", "reason": f"no end after {self.limit:.0f} s"}

    def _call(self, command, **kwargs):
        """(exit code or None after the limit, stdout, stderr, what it used)."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self._start(
                command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, **kwargs
            )
            if not process:
                return None, "", "", {}
            with self._ended(process):
                used = _wait(process, self.limit)
            return (process.returncode if used else None), _text(out), _text(err), used

    def _start(self, command, **kwargs):
        """A process, or None where nothing new begins."""
        with self.lock:
            if self.stopped:
                return None
            # A group of its own, so that what it starts ends with it.
            process = subprocess.Popen(command, start_new_session=True, **kwargs)
            self.running.add(process)
            return process

    @contextlib.contextmanager
    def _ended(self, process):
        """A process that is no longer there afterwards."""
        try:
            yield process
        finally:
            self._end(process)

    def _end(self, process):
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        with self.lock:
            self.running.discard(process)


def _wait(process, limit):
    """Waits for the end; {"processor_seconds"} of it and of what it waited for, which
    other work on the machine changes little; {} after `limit` seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return {"processor_seconds": round(usage.ru_utime + usage.ru_stime, 2)}
        time.sleep(0.02)
    return {}


_STAGE = [sys.executable, "-m", "fastk.kernelbench.stage"]


def _shortened(said):
    if said.get("reason"):
        said["reason"] = shorten(said["reason"])
    return said


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def _ending(code, said):
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"{how} {shorten(said[-4000:])}".strip()


def _kill(process):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def digest(*paths):
    """Twelve digits for the contents of files, and of folders of them."""
    total = hashlib.sha256()
    for path in paths:
        names = [path]
        if os.path.isdir(path):
            names = sorted(
                os.path.join(folder, name)
                for folder, _, found in os.walk(path)
                for name in found
            )
        for name in names:
            total.update(files.digest(name).encode())
    return total.hexdigest()[:12]
