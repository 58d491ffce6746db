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


class Runner:
    """Runs the steps of problems and keeps what they say in `rows`.

    Args:
      rows: the Rows to add to.
      folder: where models and libraries go, a folder a problem.
      fastk_opt: the program, a path.
      target: as of fastk-opt.
      banks: folders of winners.
      limit: seconds of one step.
    """

    def __init__(self, rows, folder, fastk_opt, target, banks=(), limit=300.0):
        self.rows, self.folder, self.limit = rows, folder, limit
        self.fastk_opt, self.target, self.banks = fastk_opt, target, list(banks)
        self.running, self.lock, self.stopped = set(), threading.Lock(), False

    def run(self, problems, steps, made_by, again=(), jobs=1, progress=lambda text: None):
        """Runs what is wanted. Problems are measured one at a time, all else `jobs`
        at a time. `made_by`: {step: what its results depend on}."""
        before = [step for step in steps if step != "measure"]
        try:
            if before:
                with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                    futures = [
                        pool.submit(self._steps, each, before, made_by, again, progress)
                        for each in problems
                    ]
                    try:
                        for future in concurrent.futures.as_completed(futures):
                            future.result()
                    except BaseException:
                        self._stop()
                        pool.shutdown(cancel_futures=True)
                        raise
            if "measure" in steps:
                for each in problems:
                    self._steps(each, ["measure"], made_by, again, progress)
        finally:
            self.rows.write()

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
            said["seconds"] = round(time.monotonic() - start, 2)
            said["made_by"] = made_by[step]
            with self.lock:
                self.rows.add(problem, step, digest, said)
                self.rows.write()
            progress(f"{problem.name}: {step} {said['status']}, {said['seconds']:.1f} s"
                     + (f": {said['reason']}" if said.get("reason") else ""))  # fmt: skip

    def _import(self, problem, folder):
        return self._stage("import", problem, folder)

    def _measure(self, problem, folder):
        return self._stage("measure", problem, folder)

    def _stage(self, step, problem, folder):
        command = [sys.executable, "-m", "fastk.kernelbench.stage", step]
        code, out, err = self._call([*command, problem.path, folder])
        if code is None:
            return self._timeout()
        with contextlib.suppress(ValueError, IndexError):
            said = json.loads(out.strip().splitlines()[-1])
            if said.get("reason"):
                said["reason"] = shorten(said["reason"])
            return said
        return {"status": "crash", "reason": _ending(code, err)}

    def _compile(self, problem, folder):
        """model.mlir to model.so."""
        command = [self.fastk_opt, "model.mlir", f"--target={self.target}"]
        command += [f"--bank={os.path.abspath(bank)}" for bank in self.banks]
        command += ["--emit=so", "-o", "model.so"]
        code, _, err = self._call(command, cwd=folder)
        if code is None:
            return self._timeout()
        if code < 0:
            return {"status": "crash", "reason": _ending(code, err)}
        if code:
            return {"status": "fail", "reason": shorten(err)}
        said = {"status": "ok"}
        found = re.search(r"(\d+) workloads?: (\d+) hits?", err)
        if found:
            said |= {"workloads": int(found[1]), "hits": int(found[2])}
        return said

    def _timeout(self):
        return {"status": "timeout", "reason": f"no end after {self.limit:.0f} s"}

    def _call(self, command, **kwargs):
        """(exit code or None after the limit, stdout, stderr)."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with self.lock:
                if self.stopped:
                    return None, "", ""
                # A group of its own, so that what it starts ends with it.
                process = subprocess.Popen(
                    command, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                    start_new_session=True, **kwargs,
                )  # fmt: skip
                self.running.add(process)
            try:
                code = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _kill(process)
                process.wait()
                with self.lock:
                    self.running.discard(process)
            return code, _text(out), _text(err)


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
