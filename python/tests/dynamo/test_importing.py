# ===- test_importing.py - Texts of graphs, and the process that makes them -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A graph becomes text once, whoever asks; the process for it comes and goes."""

import json
import os
import re
import sys
import threading

import pytest
import torch
from worlds import capture, graphs_of, mlp, script

from fastk.dynamo import backend, graphs, importing
from fastk.dynamo.errors import Unsupported
from fastk.dynamo.importing import Importer, Imports
from fastk.dynamo.store import Store

X = torch.ones(3, 4)


@pytest.fixture
def imports(tmp_path):
    """With the process that all tests share."""
    return Imports(Store(tmp_path), backend._importer)


def no_import(monkeypatch):
    def text_of(data):
        raise AssertionError("it is imported")

    monkeypatch.setattr(backend._importer, "text_of", text_of)


def test_ops_say_which_nodes_they_are(imports):
    module, inputs = capture(mlp()[0], *mlp()[1])
    text = imports.text_of(module, inputs)
    assert text.count("func.func @forward") == 1
    assert re.search(r"tensor<16x64xf32>.* -> tensor<16x64xf32>", text)
    named = {int(n) for n in re.findall(r'"fastk\.node":(\d+)', text)}
    calls = {
        place + 1
        for place, node in enumerate(module.graph.nodes)
        if node.op == "call_function"
    }
    assert calls <= named


def test_it_is_imported_once(imports, monkeypatch):
    text = imports.text_of(*capture(lambda x: x + 1, X))
    no_import(monkeypatch)
    assert imports.text_of(*capture(lambda y: y + 1, X)) == text
    # And has the graph for others.
    (file,) = (f for f in graphs_of(imports.store))
    numbered, _ = graphs.from_data(file.read_bytes())
    assert torch.equal(numbered(X)[0], X + 1)


def test_what_cannot_be_imported_is_remembered(imports, monkeypatch):
    def unimportable(x):
        return torch.linalg.eigvals(x @ x.T)

    with pytest.raises(Unsupported) as first:
        imports.text_of(*capture(unimportable, X))
    assert str(first.value).startswith("it cannot be imported: ")
    no_import(monkeypatch)
    with pytest.raises(Unsupported) as second:
        imports.text_of(*capture(unimportable, X))
    assert str(second.value) == str(first.value)


def test_a_graph_that_changes_its_inputs(imports):
    with pytest.raises(Unsupported, match="it writes into its inputs"):
        imports.text_of(*capture(lambda x: x.add_(1), X.clone()))


def test_what_another_version_has_made_is_not_read(imports, monkeypatch):
    graph = capture(lambda x: x - 1, X)
    imports.text_of(*graph)
    monkeypatch.setattr(importing, "version", lambda: "of another torch")
    asked = []
    monkeypatch.setattr(backend._importer, "text_of", lambda data: asked.append(data) or "")
    imports.text_of(*graph)
    assert len(asked) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"text": "a", "more": 1}', "\xff"])
def test_an_unreadable_file_counts_as_none(imports, monkeypatch, content):
    monkeypatch.setattr(backend._importer, "text_of", lambda data: "text")
    graph = capture(lambda x: x * 3, X)
    imports.text_of(*graph)
    (data,) = graphs_of(imports.store)
    file = data.with_suffix(".json")
    file.write_bytes(content.encode("latin-1"))
    assert imports.text_of(*graph) == "text"
    assert json.loads(file.read_text()) == {"text": "text"}


def test_two_threads_at_once(tmp_path):
    asked = [capture(lambda x, k=k: x * k, X) for k in (2.0, 3.0, 4.0, 5.0)]
    got = {}

    def ask(place):
        got[place] = backend._importer.text_of(graphs.to_data(*asked[place]))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, number in enumerate(("2.0", "3.0", "4.0", "5.0")):
        assert f"arith.constant {number}" in got[place]


def in_fork(work):
    """What `work` returns in a fork of this process, as JSON."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text or "null")


#: Answers with its own number.
NAMED = "while read path; do echo \"{\\\"text\\\": \\\"$$\\\"}\"; done"


def test_a_fork_has_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(script(tmp_path, "python", NAMED)))
    importer = Importer()
    mine = importer.text_of(b"")
    assert mine == str(importer.process.pid)

    def work():
        its = importer.text_of(b"")
        importer.stop()
        return its

    with importer.lock:  # as if another thread were importing
        its = in_fork(work)
    assert its and its != mine
    # The fork has ended its own alone.
    assert importer.text_of(b"") == mine
    importer.stop()


def test_an_idle_process_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(script(tmp_path, "python", NAMED)))
    importer = Importer(idle=0.5)
    first = importer.text_of(b"")
    process = importer.process
    assert process.wait(timeout=120)
    second = importer.text_of(b"")
    assert second != first
    importer.stop()
