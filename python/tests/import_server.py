# ===- import_server.py - Many imports, one start of torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs `python -m fastk.importer` in forks of a process that has imported before.

A fresh interpreter spends four of its five seconds on loading torch. What depends
on a fresh one (streams that are closed, signals, flags of Python) starts its own.

The server reads a request a line: {"arguments", "environ", "folder", "stdout",
"stderr"}, the last two as paths; it answers with the exit status.
"""

import json
import os
import pathlib
import runpy
import subprocess
import sys
import warnings


class Server:
    """The server's process; started by the first request."""

    process = None

    def run(self, arguments, scratch):
        """The finished command, as subprocess.run returns it."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        arguments = [str(each) for each in arguments]
        streams = {name: str(scratch / name) for name in ("stdout", "stderr")}
        request = {
            "arguments": arguments,
            "environ": dict(os.environ),
            "folder": os.getcwd(),
            **streams,
        }
        print(json.dumps(request), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        said = {name: pathlib.Path(path).read_text() for name, path in streams.items()}
        return subprocess.CompletedProcess(arguments, status, **said)

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(timeout=60)


def _be_command(request):
    """What is left of a fork is the command; does not return."""
    status = 1
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environ"])
        stdin = os.open(os.devnull, os.O_RDONLY)
        os.dup2(stdin, 0)
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
        sys.argv = ["fastk.importer", *request["arguments"]]
        try:
            runpy.run_module("fastk.importer", run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as end:
            # As the interpreter does: None is 0, a text is said.
            status = end.code or 0
            if not isinstance(status, int):
                print(status, file=sys.stderr)
                status = 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _serve():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    import torch

    from fastk import importer

    importer.load_once()
    # What the first import of a process does besides, once for all: a second.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importer.import_in_process(lambda: (torch.nn.Identity(), (torch.zeros(1),), {}))
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _be_command(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    # torch-mlir can hang in the interpreter's exit.
    os._exit(0)


if __name__ == "__main__":
    _serve()
