# ===- test_random_programs.py - A few of the random programs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Random programs on the host, those for a GPU compiled; and that a wrong one is found.

Thousands of them are a command of their own (docs/robustness.md)."""

import json
import pathlib
import subprocess
import sys

import judge
import random_functions
import pytest
import torch

COMMAND = pathlib.Path(__file__).with_name("random_programs.py")
COUNT = 40
#: Of some operands, on x86-64 with and without AVX-512.
DIGESTS = {"normal": 143471732, "magnitudes": 3732541794, "special": 1782049647}


def command(*arguments):
    return subprocess.run(
        [sys.executable, COMMAND, *map(str, arguments)], text=True, capture_output=True
    )


@pytest.mark.parametrize("winners, key", [("here", "host 7000"), ("family", "host 7000 family")])
def test_programs_are_right_on_the_host(tmp_path, winners, key):
    wanted = ("host", tmp_path, "--first", 7000, "--programs", COUNT, "--winners-from", winners)
    done = command(*wanted, "--jobs", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads((tmp_path / "rows.json").read_text())[key]
    assert row["programs"] == COUNT
    assert row["with_conditions"] > COUNT / 2
    assert row["judged"] > 10000
    assert 0 <= row["masked"] < row["judged"] / 10
    # What is done already is not done again.
    assert "7000:" not in command(*wanted).stdout


def test_programs_compile_for_a_gpu(tmp_path):
    done = command("pack", tmp_path, "--first", 7000, "--programs", COUNT)
    assert done.returncode == 0, done.stderr
    (module,) = json.loads((tmp_path / "pack" / "manifest.json").read_text())["modules"]
    assert module["failed"] == {}
    assert len(module["libraries"]) == COUNT


def test_operands_are_the_same_on_every_machine():
    """What `run` draws on one machine and `report` on another."""
    import inputs

    wants = [{"dtype": kind, "shape": [31, 33]} for kind in inputs.TYPES]
    drawn = {law: inputs.digest(inputs.draw(11, law, wants)) for law in inputs.LAWS}
    assert drawn == DIGESTS


def test_a_wrong_program_is_found(tmp_path, monkeypatch):
    import random_programs

    right = random_functions.compile_program

    def wrong(functions, target, library, *others):
        changed = {seed: text.replace("arith.addf", "arith.subf").replace("math.exp", "math.tanh")
                   for seed, text in functions.items()}  # fmt: skip
        right(changed, target, library, *others)

    monkeypatch.setattr(random_functions, "compile_program", wrong)
    row = random_programs.run_on_host(tmp_path / "own", 7000, 20)
    named = {each["program"] for each in row["findings"]}
    used = {seed for seed, text in random_functions.split(random_functions.text_of(7000, 20)).items()
            if "arith.addf" in text or "math.exp" in text}  # fmt: skip
    assert named and named <= used


def test_a_program_that_does_not_compile_is_named(tmp_path):
    functions = random_functions.split(random_functions.text_of(7000, 8))
    functions[7003] = functions[7003].replace("tensor<", "tensor<-", 1)
    libraries, failed = random_functions.largest_that_compile(functions, "host", tmp_path / "a.so")
    assert set(libraries) == set(functions) - {7003}
    assert "error:" in failed[7003]


@pytest.mark.parametrize(
    "got, want, condition, wrong",
    [
        (1.0, 1.0, 0.0, 0),
        (1.0, 1.0 + 2.0**-22, 1.0, 0),
        (1.0, 1.001, 1.0, 1),
        (float("nan"), 1.0, 1.0, 1),
        (1.0, float("nan"), 1.0, 1),
        (float("inf"), float("nan"), 1.0, 0),
        (5.0, 1.0, float("inf"), 0),
        (float("inf"), 1e39, 1.0, 0),
        (float("-inf"), 1e39, 1.0, 1),
        (0.0, 1e-40, 0.0, 0),
        (1.0, 1.01, None, 1),
        (1.0, 1.001, None, 0),
    ],
)
def test_elements(got, want, condition, wrong):
    def tensor(value, kind):
        return None if value is None else torch.tensor([value], dtype=kind)

    found = judge.compare("f32", tensor(got, torch.float32), tensor(want, torch.float64),
                          tensor(condition, torch.float64), "f32")  # fmt: skip
    assert found.wrong == wrong
    assert bool(found.reason) == bool(wrong)


def test_integers_are_equal():
    two, three = torch.tensor([2, 3]), torch.tensor([3, 3])
    assert judge.compare("i64", two, two, None, "f64").wrong == 0
    assert judge.compare("i64", two, three, None, "f64").wrong == 1
    # Of a program whose floats may be beyond their type, and no conditions say so.
    assert judge.compare("i64", two, three, None, "f32").masked == 1
    exact = torch.tensor([0.0, 0.0])
    assert judge.compare("i64", two, three, exact, "f32").wrong == 1


def test_a_library_and_its_text_have_one_signature(tmp_path):
    import random_programs

    functions = random_functions.split(random_functions.text_of(7000, 5))
    random_functions.compile_program(functions, "host", tmp_path / "a.so")
    for seed, text in functions.items():
        said = random_programs.library_of(tmp_path / "a.so", seed).signature
        assert random_programs.signature_of(text) == {
            side: [{"dtype": each["dtype"], "shape": each["shape"]} for each in said[side]]
            for side in ("inputs", "outputs")
        }
