# ===- test_whole_models.py - Small copies of whole models -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""GPT-2, BERT, ResNet and Llama of 2 layers: imported, compiled, run, compared.

The models are those of benchmarks/whole_models.py, whose real sizes
benchmarks/models.py measures. They stand for any model of transformers: what
such a model needs of the importer, of formation and of the lowering is here.
"""

import functools
import re

import numpy
import pytest
from compiled import Library, fastk
from conftest import ROOT

from fastk.importer import import_file, reference, source

MODELS = ROOT / "benchmarks" / "whole_models.py"

#: Of the largest element of the logits.
ORACLE_BOUND = 1e-12
FLOAT_BOUND = 1e-5
#: transformers' Llama rounds norms and rotations to f32 also where all else is f64;
#: the oracle does not.
ORACLE_BOUNDS = {"llama_small": FLOAT_BOUND}

#: Name -> (workloads, distinct keys). Equal layers share keys: GPT-2 has as many
#: keys with 2 layers as with 12. ResNet's two stages differ in shape.
WORKLOADS = {
    "gpt2_small": (19, 10),
    "bert_base_small": (24, 11),
    "resnet18_small": (8, 8),
    "llama_small": (24, 12),
}


def largest_error(got, want):
    assert got.shape == want.shape
    assert numpy.isfinite(got).all()
    scale = numpy.abs(want).max()
    assert scale > 0.01, "the data is too weak to tell"
    return numpy.abs(got.astype("f8") - want).max() / scale


class Case:
    """A model, its data, and what torch computes of it in f64 and in f32."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.model = folder / "model.mlir"
        spec = f"{MODELS}:{name}"
        import_file(spec).write(str(self.model))
        build = source.load(spec)
        self.inputs, (self.exact,) = reference.compute(lambda: source.call(build), 5)
        _, (self.eager,) = reference.compute(
            lambda: source.call(build), 5, double=False
        )
        self.bank = folder / "bank"
        self.bank.mkdir()

    @functools.cached_property
    def compiled(self):
        """(the finished fastk-opt, the library it made)."""
        library = self.folder / "model.so"
        done = fastk(
            "fastk-opt",
            self.model,
            f"--bank={self.bank}",
            "--emit=so",
            "--remarks-filter=fastk",
            "-o",
            library,
        )
        return done, Library(library)

    def oracle(self):
        paths = []
        for index, array in enumerate(self.inputs):
            paths.append(str(self.folder / f"in{index}.npy"))
            numpy.save(paths[-1], array)
        fastk(
            "fastk-run",
            self.model,
            "--oracle",
            f"--inputs={','.join(paths)}",
            "--outputs",
            self.folder / "oracle",
        )
        return numpy.load(self.folder / "oracle" / "out0.npy")


@pytest.fixture(scope="module", params=sorted(WORKLOADS))
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param))


def test_the_library_is_the_model(case):
    _, library = case.compiled
    (got,) = library(*case.inputs)
    assert largest_error(got, case.exact) < FLOAT_BOUND
    assert largest_error(got, case.eager.astype("f8")) < FLOAT_BOUND


def test_the_oracle_is_the_model(case):
    bound = ORACLE_BOUNDS.get(case.name, ORACLE_BOUND)
    assert largest_error(case.oracle(), case.exact) < bound


def test_equal_layers_share_keys(case):
    done, _ = case.compiled
    workloads, keys = WORKLOADS[case.name]
    summary = done.stderr.strip().splitlines()[-1]
    assert summary.startswith(
        f"fastk-opt: {workloads} workloads: 0 hits, {workloads} misses"
    )
    found = re.search(r"; (\d+) keys", summary)
    assert (int(found[1]) if found else workloads) == keys


def test_intermediates_take_little_more_than_what_is_alive(case):
    done, _ = case.compiled
    plan = re.search(
        r"buffer-plan .*Function=fastk\.model\.forward .*", done.stdout + done.stderr
    )
    assert plan, done.stderr
    values = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", plan[0])}
    assert 0 < values["alive"] <= values["bytes"] <= 1.3 * values["alive"]
