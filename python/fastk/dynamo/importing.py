# ===- importing.py - Texts of graphs, from a process that imports them -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Texts of graphs: from the store, or from a process that imports them."""

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time

from . import graphs
from .errors import Failed, Unsupported

#: Seconds that an import may take; the first one starts Python and loads torch.
TIMEOUT = 300


class Importer:
    """Imports graphs in a process of its own, which is started when it is needed."""

    def __init__(self, timeout=TIMEOUT):
        self.timeout = timeout
        self.process = None
        self.lock = threading.Lock()
        self.owner = os.getpid()

    def _start(self):
        if os.getpid() != self.owner:
            # A fork has its parent's pipes: two would read one answer.
            self.process, self.owner = None, os.getpid()
        if self.process is not None and self.process.poll() is None:
            return
        package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        path = [package, os.environ.get("PYTHONPATH", "")]
        self.log = tempfile.TemporaryFile()  # noqa: SIM115, for the process's life
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fastk.dynamo.import_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            # A GPU is of no use to it, and its memory is the user's.
            env=dict(
                os.environ,
                PYTHONPATH=os.pathsep.join(filter(None, path)),
                CUDA_VISIBLE_DEVICES="",
            ),
            # Ctrl-C is the caller's to handle.
            start_new_session=True,
        )
        atexit.register(self.stop)

    def stop(self):
        if self.process is not None and os.getpid() == self.owner:
            self.process.kill()
            self.process.wait()
            self.process = None

    def text_of(self, data):
        """Imports what graphs.to_data has made; raises Unsupported or Failed."""
        with self.lock, tempfile.NamedTemporaryFile(prefix="fastk-graph-") as file:
            file.write(data)
            file.flush()
            self._start()
            try:
                answer = self._ask(file.name)
            except BaseException:
                # It may be at anything.
                self.stop()
                raise
        if "error" in answer:
            raise Unsupported(f"it cannot be imported: {answer['error']}")
        return answer["text"]

    def _ask(self, path):
        deadline = time.monotonic() + self.timeout
        self.process.stdin.write(path.encode() + b"\n")
        self.process.stdin.flush()
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if not select.select([self.process.stdout], [], [], max(0, left))[0]:
                raise Failed(f"an import takes longer than {self.timeout} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise Failed(f"the importing process ended: {self._said()}")
            line += piece
        return json.loads(line)

    def _said(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 500))
        return self.log.read().decode(errors="replace").strip() or "it said nothing"


class Imports:
    """The texts of graphs that were imported before, and an importer for others."""

    def __init__(self, store, importer):
        self.store, self.importer = store, importer

    def text_of(self, module, inputs):
        """The text of a GraphModule with these inputs; raises Unsupported or Failed."""
        data = graphs.to_data(module, inputs)
        name = f"imports/{graphs.digest(data)}"
        known = self.store.read(name + ".json")
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
