# ===- test_programs.py - Programs through torch-mlir and fastk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every program of the sample computes through fastk what it does in torch.

torch-mlir imports a family in a forked child: its LLVM stays out of this process,
and so does its hang at exit.
"""

import functools

import pytest
import torch
from compiled import BIN
from programs import FAMILIES

from fastk import importer
from fastk.importer import ImporterError, child, lower
from fastk.torch_mlir import FastkLinalgOnTensorsBackend
from fastk.torch_mlir.text import module_text

CASES = [(family, name) for family, all in FAMILIES.items() for name in all]


def test_the_sample_is_large():
    assert len(CASES) >= 60
    assert len({name for _, name in CASES}) == len(CASES)


@functools.cache
def imported(family):
    """{name: text, or why there is none} of a family's programs."""
    try:
        return import_family(family)
    except ImporterError as error:
        return dict.fromkeys(FAMILIES[family], str(error))


def import_family(family):

    def task(report):
        from torch_mlir import fx

        torch.set_num_threads(1)
        importer.load_torch_mlir()
        texts = {}
        for name, program in FAMILIES[family].items():
            report(name)
            try:
                exported = torch.export.export(
                    program.module(),
                    program.inputs(),
                    dynamic_shapes=program.dynamic and (program.dynamic,),
                    strict=False,
                )
                with lower.dispatcher_asked_once():
                    module = fx.export_and_import(
                        exported, output_type="linalg-on-tensors", func_name=name
                    )
                texts[name] = module_text(module)
            except Exception as error:  # torch.export and torch-mlir raise anything
                texts[name] = f"{type(error).__name__}: {error}"
        return texts

    importer.load_once()
    return child.run(task, family, progress=False)


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    bank = tmp_path_factory.mktemp("bank")
    return FastkLinalgOnTensorsBackend(
        banks=[bank], fastk_opt=BIN / "fastk-opt", timeout=120
    )


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


@pytest.mark.parametrize("family, name", CASES, ids=[name for _, name in CASES])
def test_program(family, name, backend):
    program = FAMILIES[family][name]
    text = imported(family)[name]
    assert "func.func" in text, text
    model = backend.load(backend.compile(text))
    inputs = program.inputs()
    with torch.no_grad():
        wanted = flat(program.module()(*[each.clone() for each in inputs]))
    got = flat(getattr(model, name)(*inputs))
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted):
        if not isinstance(theirs, torch.Tensor):
            assert type(ours) is type(theirs)
            assert ours == theirs
            continue
        torch.testing.assert_close(
            ours, theirs, rtol=program.rtol, atol=program.atol, equal_nan=True
        )
