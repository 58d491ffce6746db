# ===- test_record.py - What had no winner, written -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""FASTK_RECORD has each graph that is compiled, also those that fastk leaves alone."""

import json
import subprocess

import torch
from compiled import BIN
from worlds import (  # noqa: F401
    compiled,
    home,
    inductor_cache,
    mlp,
    warned,
)


def said(folder):
    """What the records of a folder say, by the number of their workloads."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def test_what_has_no_winner_can_be_searched(home, tmp_path, monkeypatch):  # noqa: F811
    into = tmp_path / "record"
    monkeypatch.setenv("FASTK_RECORD", str(into))
    model, (x,) = mlp()
    with torch.no_grad():
        warned(lambda: compiled(model)(x))
    (record,) = said(into)
    assert record["target"] == "host" and record["seen"] == 1
    assert record["reason"] is None
    missed = [each for each in record["workloads"] if each["outcome"] == "miss"]
    assert missed and all(len(each["key"]) == 64 for each in missed)
    # The folder is a model of its own, with the same workloads, and without weights.
    (text,) = into.glob("*.mlir")
    assert "dense_resource" not in text.read_text()
    listed = tmp_path / "list.json"
    subprocess.run(
        [BIN / "fastk-opt", into, f"--list-workloads={listed}", "-o", "/dev/null"],
        check=True, capture_output=True,
    )  # fmt: skip
    keys = {each["key"] for each in json.loads(listed.read_text())["workloads"]}
    assert {each["key"] for each in missed} <= keys
    with torch.no_grad():
        warned(lambda: compiled(model)(x))
    assert said(into)[0]["seen"] == 2


def test_what_fastk_leaves_alone(home, tmp_path, monkeypatch):  # noqa: F811
    into = tmp_path / "record"
    monkeypatch.setenv("FASTK_RECORD", str(into))
    model, (x,) = mlp()
    result, told = warned(lambda: compiled(model)(x.requires_grad_()))
    result.sum().backward()
    (record,) = said(into)
    assert "it is trained" in record["reason"] and record["workloads"] == []
    assert not list(into.glob("*.mlir"))


def test_a_folder_that_cannot_be_written(home, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "record").write_text("a file")
    monkeypatch.setenv("FASTK_RECORD", str(tmp_path / "record"))
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-4)
    assert not told
