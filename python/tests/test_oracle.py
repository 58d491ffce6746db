# ===- test_oracle.py - The compiler's oracle against torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk's oracle agrees with torch in float64; the default lowering with it.

The oracle is what every verdict rests on: the model promoted to f64 and lowered
by fastk itself. It is compared on every small golden input with torch's float64
on the same values. With -rP pytest prints the errors that were measured.
"""


import numpy
import pytest
from compiled import fastk
from conftest import GOLDEN, GOLDEN_PY

from fastk.importer import golden, reference

SMALL = [name for name in golden.NAMES if name.endswith("_small")]

#: Of the largest element of a result: the oracle against torch in float64.
ORACLE_BOUND = 1e-12


def unit_roundoff(dtype):
    return {"float16": 2.0**-11, "float32": 2.0**-24}[str(dtype)]


def largest_error(got, want):
    """Relative to the largest element; NaN anywhere counts as infinite."""
    assert got.shape == want.shape
    scale = numpy.abs(want).max()
    assert scale > 0.01, "the data is too weak to tell"
    assert numpy.isfinite(got).all() and numpy.isfinite(want).all()
    return numpy.abs(got.astype("f8") - want).max() / scale


def largest_error_of_elements(got, want):
    """Relative to each element by itself, where it is not zero."""
    got, want = got[want != 0], want[want != 0]
    return (numpy.abs(got - want) / numpy.abs(want)).max()


@pytest.fixture(scope="module", params=SMALL)
def case(request, tmp_path_factory):
    """Reference data of one golden input, as the documented command makes it.

    Returns (model, folder, the --inputs option, [torch's float64 results], [the
    oracle's results]).
    """
    folder = tmp_path_factory.mktemp(request.param)
    source = f"{GOLDEN_PY}:{request.param}"
    assert reference.main([source, "--seed", "7", "--outdir", str(folder)]) == 0
    files = [folder / f"in{i}.npy" for i in range(len(list(folder.glob("in*.npy"))))]
    wanted = [
        numpy.load(folder / f"out{i}.npy")
        for i in range(len(list(folder.glob("out*.npy"))))
    ]
    assert files and wanted
    assert all(array.dtype == "f8" for array in wanted)
    inputs = "--inputs=" + ",".join(map(str, files))
    model = GOLDEN / f"{request.param}.mlir"
    oracle = run(model, folder / "oracle", inputs, "--oracle")
    return model, folder, inputs, wanted, oracle


def run(model, outputs, *options):
    fastk("fastk-run", model, "--outputs", outputs, *options)
    count = len(list(outputs.glob("out*.npy")))
    return [numpy.load(outputs / f"out{i}.npy") for i in range(count)]


def test_the_oracle_agrees_with_torch(case):
    model, _, _, wanted, oracle = case
    for got, want in zip(oracle, wanted, strict=True):
        assert got.dtype == "f8"
        error = largest_error(got, want)
        each = largest_error_of_elements(got, want)
        print(f"{model.stem}: {error:.1e} of the largest element, {each:.1e} of each")
        assert error <= ORACLE_BOUND


def test_the_default_lowering_agrees_with_the_oracle(case, tmp_path):
    """To a few roundings of the element type; 5.6 were measured at most."""
    model, _, inputs, _, oracle = case
    (tmp_path / "bank").mkdir()
    results = run(model, tmp_path / "results", inputs, f"--bank={tmp_path / 'bank'}")
    for got, want in zip(results, oracle, strict=True):
        error = largest_error(got, want)
        roundoff = unit_roundoff(got.dtype)
        print(f"{model.stem}: {error:.1e}, {error / roundoff:.1f} roundings")
        assert error <= 16 * roundoff


def test_other_inputs_are_told_apart(case, tmp_path):
    """The comparison can fail: generated inputs give other results."""
    model, _, _, wanted, _ = case
    got = run(model, tmp_path, "--oracle", "--seed=5")
    assert largest_error(got[0], wanted[0]) > 1e-3
