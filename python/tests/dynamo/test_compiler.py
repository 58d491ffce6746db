# ===- test_compiler.py - What fastk-opt says, and is asked -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk-opt is asked with what torch's flags allow, and may not be there, fail or hang."""

import json
import os
import subprocess
import time

import pytest
import torch
from compiled import BIN
from worlds import home, inductor_cache, run_script, script  # noqa: F401

from fastk.dynamo import compiler
from fastk.dynamo.compiler import Settings
from fastk.dynamo.errors import Failed, Unsupported
from fastk.dynamo.store import Store

ADD = """
func.func @forward(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>)
                  outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def fake(home, monkeypatch):  # noqa: F811
    """Makes FASTK_OPT a shell script."""

    def make(text):
        path = script(home, "fastk-opt", text)
        monkeypatch.setenv("FASTK_OPT", str(path))
        return path

    return make


def test_workloads(home):  # noqa: F811
    (found,) = compiler.workloads_of(ADD, Settings("host"))
    assert found["outcome"] == "miss" and found["name"] == "add"


def test_what_it_is_asked(fake):
    fake('printf "%s\\n" "$@" > $0.asked; exit 1')
    settings = Settings("cuda:sm_90a", "tf32", True, ("one", "two"))
    with pytest.raises(Failed):
        compiler.workloads_of(ADD, settings)
    with open(f"{os.environ['FASTK_OPT']}.asked", encoding="utf-8") as file:
        asked = file.read().split()
    assert asked[1:7] == [
        "--target=cuda:sm_90a", "--precision=tf32", "--bank=one", "--bank=two",
        "--winners-from=any", "--require-deterministic",
    ]  # fmt: skip


def test_no_program(home, monkeypatch):  # noqa: F811
    monkeypatch.setenv("FASTK_OPT", "/no/such")
    with pytest.raises(Failed, match="FASTK_OPT names /no/such, which is no program"):
        compiler.workloads_of(ADD, Settings("host"))
    monkeypatch.delenv("FASTK_OPT")
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(Failed, match="there is no fastk-opt: let FASTK_OPT name it"):
        compiler.program()
    monkeypatch.setenv("PATH", str(BIN))
    assert compiler.program() == str(BIN / "fastk-opt")


LIST = '''for each; do case $each in --list-workloads=*) list=${each#*=};; esac; done; \
echo '%s' > $list'''


@pytest.mark.parametrize(
    "text, message",
    [
        ("echo 'error: no space' >&2; exit 1", "fastk-opt left with 1: error: no space"),
        ("echo hm >&2; echo 'a: error: b' >&2; exit 2", "left with 2: a: error: b"),
        ("exit 4", "fastk-opt left with 4: it said nothing"),
        ("kill -SEGV $$", "fastk-opt was ended by signal 11: it said nothing"),
        ("exit 0", "does not list workloads as this version of fastk reads them"),
        (LIST % "", "does not list workloads"),
        (LIST % "[]", "does not list workloads"),
        (LIST % '{"format": "fastk.workloads", "version": 2}', "let FASTK_OPT name one"),
        (LIST % '{"format": "fastk.workloads", "version": 1}', "does not list workloads"),
    ],
)
def test_it_fails(fake, text, message):
    fake(text)
    with pytest.raises(Failed) as error:
        compiler.workloads_of(ADD, Settings("host"))
    assert message in str(error.value)


def test_it_is_none(fake):
    path = fake("")
    path.write_bytes(b"\x7fELF")
    with pytest.raises(Failed, match="cannot be run: Exec format error: let FASTK_OPT"):
        compiler.workloads_of(ADD, Settings("host"))


@pytest.mark.parametrize("interrupt", [False, True])
def test_it_hangs(fake, monkeypatch, interrupt):
    """And what it has started, which has its pipes, ends with it."""
    path = fake("sleep 1000 & echo $! > $0.child; wait")

    def wait(self, timeout):
        while not os.path.exists(f"{path}.child") or not os.path.getsize(f"{path}.child"):
            time.sleep(0.01)
        raise KeyboardInterrupt if interrupt else subprocess.TimeoutExpired("", timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", lambda self, timeout: wait(self, timeout))
    with pytest.raises(KeyboardInterrupt if interrupt else Failed) as error:
        compiler.workloads_of(ADD, Settings("host"))
    if not interrupt:
        assert str(error.value) == "fastk-opt takes longer than 600 s"
    monkeypatch.undo()
    with open(f"{path}.child", encoding="utf-8") as file:
        child = int(file.read())
    end = time.monotonic() + 60
    while is_running(child) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(child)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_region_that_is_another_workload(home):  # noqa: F811
    with pytest.raises(Unsupported, match="by itself it is another workload: add"):
        compiler.compile_region(ADD, "0" * 64, Settings("host"), Store())


def listing(*workloads):
    return json.dumps({"format": "fastk.workloads", "version": 1, "workloads": workloads})


@pytest.mark.parametrize(
    "outcomes",
    [[], [("hit", "b")], [("miss", "a")], [("hit", "a"), ("miss", "c")], [("hit", "a")] * 2],
    ids=["none", "another", "miss", "one more", "twice"],
)
def test_a_region_must_be_the_one_workload(fake, outcomes):
    found = [{"outcome": what, "key": key, "name": key} for what, key in outcomes]
    fake(LIST % listing(*found))
    with pytest.raises(Unsupported, match="by itself it is another workload"):
        compiler.compile_region(ADD, "a", Settings("host"), Store())


def test_what_it_became_is_kept(fake):
    text = LIST % listing({"outcome": "hit", "key": "a", "name": "a"})
    # The last argument is the output.
    fake(f"{text}\nprintf code > $each")
    path, digest = compiler.compile_region(ADD, "a", Settings("host"), Store())
    with open(path, "rb") as file:
        assert file.read() == b"code"
    assert path == Store().path(f"programs/{digest}.so")
    path, _ = compiler.compile_region(ADD, "a", Settings("cuda:sm_90a"), Store())
    assert path.endswith(".plan")


FLAGS = [
    ("pass", "ieee,convolution=tf32"),
    ("torch.backends.cuda.matmul.allow_tf32 = True", "tf32"),
    ("torch.set_float32_matmul_precision('high')", "tf32"),
    ("torch.backends.cudnn.allow_tf32 = True", "ieee,convolution=tf32"),
    ("torch.backends.cudnn.allow_tf32 = False", "ieee"),
    ("torch.set_float32_matmul_precision('high');torch.backends.cudnn.allow_tf32 = False",
     "ieee"),
    ("torch.backends.fp32_precision = 'tf32'", "tf32"),
    ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "tf32"),
    ("torch.backends.fp32_precision = 'ieee'", "ieee"),
    ("torch.backends.fp32_precision = 'tf32';"
     "torch.backends.cudnn.conv.fp32_precision = 'ieee'", "ieee"),
]  # fmt: skip


def test_the_precision_that_torch_allows():
    """By each kind of flags, the older and the newer, in a process of its own: torch
    raises where both were used."""
    text = f"""
import os, torch
from fastk.dynamo.compiler import allowed_precision
for flags, wanted in {FLAGS!r}:
    if not os.fork():
        exec(flags)
        got = allowed_precision(torch.device("cuda"))
        host = allowed_precision(torch.device("cpu"))
        if (got, host) != (wanted, "ieee"):
            print(flags, got, host, flush=True)
        os._exit(0)
    os.wait()
"""
    assert run_script(text) == ""


def test_targets(monkeypatch):
    assert compiler.target_of(CPU) == "host"
    assert compiler.target_of(torch.device("meta")) is None
    capability = {"value": (9, 0)}
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device: capability["value"]
    )
    assert compiler.target_of(GPU) == "cuda:sm_90a"
    capability["value"] = (8, 0)
    assert compiler.target_of(GPU) == "cuda:sm_80"
    monkeypatch.setattr(torch.version, "hip", "6.0")
    assert compiler.target_of(GPU) is None
