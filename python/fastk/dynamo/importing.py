# ===- importing.py - Texts of graphs, from a process that imports them -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Texts of graphs: from the store, or from a process that imports them."""

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import threading
import time

from . import graphs
from .errors import Failed, Unsupported
from .work import watched

#: Seconds that an import may take; the first one starts Python and loads torch.
TIMEOUT = 300
#: Seconds after which a process that nobody asks ends: it holds half a gigabyte.
IDLE = 60


class Importer:
    """Imports graphs in a process of its own, which is started when it is needed."""

    def __init__(self, timeout=TIMEOUT, idle=IDLE):
        self.timeout, self.idle = timeout, idle
        self._forget()
        # A fork has its parent's pipes, where two would read one answer, and perhaps a
        # lock that nobody there gives back.
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.stop)

    def _forget(self):
        self.lock = threading.Lock()
        self.process = self.log = self.timer = None

    def _start(self):
        if self.process is not None and self.process.poll() is None:
            return
        self.stop()
        package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        path = [package, os.environ.get("PYTHONPATH", "")]
        self.log = tempfile.TemporaryFile()  # noqa: SIM115, for the process's life
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fastk.dynamo.import_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=dict(
                os.environ,
                PYTHONPATH=os.pathsep.join(filter(None, path)),
                # A json.py in the folder where the user is is not Python's.
                PYTHONSAFEPATH="1",
                # A GPU is of no use to it, and its memory is the user's.
                CUDA_VISIBLE_DEVICES="",
            ),
            # Ctrl-C is the caller's to handle.
            start_new_session=True,
        )

    def stop(self):
        """Ends the process; the next import starts another one."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            # What it ended without reading is still to be sent.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            self.log.close()

    def _stop_if_idle(self, timer):
        with self.lock:
            if self.timer is timer:
                self.stop()

    def _watch(self):
        """Has the process end once nobody has asked it for a while."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = threading.Timer(self.idle, lambda: self._stop_if_idle(timer))
        timer = self.timer
        timer.daemon = True
        timer.start()

    def text_of(self, data):
        """Imports what graphs.to_data has made; raises Unsupported or Failed."""
        with self.lock, tempfile.NamedTemporaryFile(prefix="fastk-graph-") as file:
            file.write(data)
            file.flush()
            try:
                self._start()
                with watched(self.process):
                    answer = self._ask(file.name)
            except BaseException:
                # It may be at anything.
                self.stop()
                raise
            self._watch()
        if "failed" in answer:
            raise Failed(f"an import failed: {answer['failed']}")
        if "error" in answer:
            raise Unsupported(f"it cannot be imported: {answer['error']}")
        return answer["text"]

    def _ask(self, path):
        deadline = time.monotonic() + self.timeout
        line = b""
        try:
            self.process.stdin.write(path.encode() + b"\n")
            self.process.stdin.flush()
            while not line.endswith(b"\n"):
                left = deadline - time.monotonic()
                if not select.select([self.process.stdout], [], [], max(0, left))[0]:
                    raise Failed(f"an import takes longer than {self.timeout} s")
                piece = os.read(self.process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise BrokenPipeError
                line += piece
            answer = json.loads(line)
        except (BrokenPipeError, ValueError):
            raise Failed(f"the importing process ended: {self._said()}") from None
        return answer

    def _said(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 500))
        return self.log.read().decode(errors="replace").strip() or "it said nothing"


@functools.cache
def version():
    """Of all that makes a text of a graph: torch, torch-mlir, and fastk's own files."""
    text = hashlib.sha256()
    for name in ("torch", "torch-mlir"):
        try:
            text.update(f"{name} {importlib.metadata.version(name)}\n".encode())
        except importlib.metadata.PackageNotFoundError:
            text.update(f"no {name}\n".encode())
    here = pathlib.Path(__file__).parent
    own = [here / "graphs.py", here / "import_server.py"]
    for path in (*sorted((here.parent / "importer").glob("*.py")), *own):
        text.update(path.read_bytes())
    return text.hexdigest()


def _name_of(data):
    return f"imports/{version()[:16]}/{graphs.digest(data)}"


class Imports:
    """The texts of graphs that were imported before, and an importer for others."""

    def __init__(self, store, importer):
        self.store, self.importer = store, importer

    def text_of(self, module, inputs):
        """The text of a GraphModule with these inputs; raises Unsupported or Failed."""
        return self.text_of_data(graphs.to_data(module, inputs))

    def are_there(self, data):
        """Whether what graphs.to_data has made was imported before."""
        return self._known(_name_of(data)) is not None

    def _known(self, name):
        return self.store.read(name + ".json", ("text",), ("error",))

    def text_of_data(self, data):
        """As text_of(), of what graphs.to_data has made; on any thread."""
        name = _name_of(data)
        known = self._known(name)
        if known is None:
            try:
                known = {"text": self.importer.text_of(data)}
            except Unsupported as error:
                known = {"error": str(error)}
            # So that another machine can import what this one asks for.
            self.store.write_bytes(name + ".graph", data)
            self.store.write(name + ".json", known)
        if "error" in known:
            raise Unsupported(known["error"])
        return known["text"]
