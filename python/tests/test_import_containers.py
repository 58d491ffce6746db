# ===- test_import_containers.py - Results and inputs of any form -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Dataclasses, dicts, named tuples, None: imported, and returned by what is bound."""

import collections
import dataclasses
import time
import types

import pytest
import torch
from compiled import compile_and_bind
from torch import nn
from torch_modules import Wrap

from fastk.importer import ImporterError, containers, import_module
from fastk.library import Error, Library

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor | None = None
    parts: tuple | None = None


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, torch.Tensor):
        torch.testing.assert_close(got, want)
    elif dataclasses.is_dataclass(want):
        same(vars(got), vars(want))
    elif isinstance(want, dict):
        assert list(got) == list(want)
        same(list(got.values()), list(want.values()))
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
    else:
        assert got == want


FORMS = {
    "dataclass": lambda x: Output(x * 2, parts=(x + 1, [x - 1])),
    "dict": lambda x: {"b": x * 2, "a": {"c": x + 1}},
    "named": lambda x: Pair(x * 2, {"k": x + 1}),
    "none": lambda x: (x * 2, None),
    "numbers": lambda x: [x * 2, 3, 0.5, "name", True],
    "tuple": lambda x: (x, x * 2),
    "one": lambda x: (x * 2,),
    "list": lambda x: [x * 2, x + 1],
    "structure": lambda x: (x.max(0), x.sort(1)),
    "nested": lambda x: ((x * 2,), x + 1),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_forward_returns_is_returned(name, tmp_path):
    module, x = Wrap(FORMS[name]), torch.randn(3, 2)
    imported, bound = compile_and_bind(tmp_path, module, x)
    x = torch.randn(3, 2)
    same(bound(x), module(x))
    # A tensor and a tuple of several need no words.
    assert ("returned" in imported.sidecar) == (name != "tuple")


def test_a_dataclass_as_input(tmp_path):
    module = Wrap(lambda given, y: given.logits * y["k"] + given.parts[0])
    given = Output(torch.randn(3, 2), None, (torch.randn(2),))
    more = {"k": torch.randn(3, 2)}
    imported, bound = compile_and_bind(tmp_path, module, given, more)
    assert [each["name"] for each in imported.sidecar["arguments"]] == [
        "input0.logits", "input0.parts[0]", "input1['k']",
    ]  # fmt: skip
    given = Output(torch.randn(3, 2), None, (torch.randn(2),))
    same(bound(given, more), module(given, more))


def test_an_input_that_is_written(tmp_path):
    module = Wrap(lambda x: x.mul_(2) + 1)
    _, bound = compile_and_bind(tmp_path, module, torch.randn(3))
    mine, theirs = torch.ones(3), torch.ones(3)
    same(bound(mine), module(theirs))
    same(mine, theirs)


class SameName(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.full((3,), 2.0))

    def forward(self, state):
        state.add_(1)
        return state * self.state


def test_an_input_that_is_written_and_named_as_a_buffer(tmp_path):
    mine, theirs = SameName(), SameName()
    imported, bound = compile_and_bind(tmp_path, mine, torch.ones(3))
    x, y = torch.ones(3), torch.ones(3)
    same(bound(x), theirs(y))
    same(x, y)
    same(mine.state, theirs.state)
    # Sidecars from before say the name alone, which may be of either.
    del imported.sidecar["results"][0]["argument"]
    imported.write(str(tmp_path / "model.mlir"))
    with pytest.raises(
        Error, match="does not say which of the 2 arguments 'state' is .*: import"
    ):
        Library(tmp_path / "model.so").bind(mine)


def test_an_open_size_of_an_input_that_is_named_as_a_buffer():
    imported = import_module(
        SameName(), (torch.ones(3, 3),), dynamic_shapes={"state": {0: "n"}}
    )
    shapes = [(each["role"], each["shape"]) for each in imported.sidecar["arguments"]]
    assert shapes == [("buffer", [3]), ("input", [-1, 3])]


def test_a_class_that_is_not_there_becomes_a_namespace():
    form = {"type": "no.such.module:Name", "fields": {"x": 0}}
    assert containers.put_together(form, [5]) == types.SimpleNamespace(x=5)


@dataclasses.dataclass
class Checked:
    x: int

    def __post_init__(self):
        if self.x != 1:
            raise ValueError("not 1")


def test_a_class_that_refuses_the_fields_becomes_a_namespace():
    def made(name):
        form = {"type": f"{__name__}:{name}", "fields": {"x": 0}}
        return containers.put_together(form, [5])

    assert made("Checked") == made("Pair") == types.SimpleNamespace(x=5)


@pytest.mark.parametrize(
    "name",
    ["subprocess:Popen", "os:system", "builtins:dict", "ast:Name", "types:nothing"],
)
def test_only_what_holds_results_is_called(name, tmp_path):
    # A sidecar may come from anywhere.
    made, fields = tmp_path / "made", {"args": {"list": [{"value": "touch"}]}}
    fields["args"]["list"].append({"value": str(made)})
    fields["shell"] = {"value": False}
    got = containers.put_together({"type": name, "fields": fields}, [])
    assert type(got) is types.SimpleNamespace
    assert got.args == ["touch", str(made)]
    time.sleep(0.2)
    assert not made.exists()


FORMS_OF_ONE = [0, {"tuple": [0, {"value": None}]}, {"dict": {"k": {"list": [0]}}}]
NO_FORMS = [
    1, -1, True, 0.5, "0", None, [], [0], {}, {"tuple": 0}, {"tuple": {}}, {"dict": [0]},
    {"value": [1]}, {"type": "a:B"}, {"type": 0, "fields": {}}, {"type": "a:B", "fields": [0]}, {"list": [{"set": [0]}]},
]  # fmt: skip


@pytest.mark.parametrize("form", NO_FORMS, ids=str)
def test_what_is_no_form(form):
    assert not containers.is_form(form, 1)
    assert all(containers.is_form(each, 1) for each in FORMS_OF_ONE)


class Local:
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: (x, Local()), "forward returns an object of type Local"),
        (lambda x: {1: x}, "a dict with keys that are no strings"),
        (lambda x: None, "forward returns None, and so no tensor"),
    ],
)
def test_forms_that_are_refused(function, message):
    with pytest.raises(ImporterError, match=message) as error:
        import_module(Wrap(function), (torch.randn(3),))
    assert error.value.remedy.startswith("return ")


def test_a_number_that_depends_on_an_open_size():
    with pytest.raises(ImporterError, match="a number that depends on an open size"):
        import_module(
            Wrap(lambda x: (x, x.shape[0])),
            (torch.randn(3),),
            dynamic_shapes={"input0": {0: "n"}},
        )


def test_errors_name_the_weight(tmp_path):
    module = nn.Linear(6, 4).eval()
    _, bound = compile_and_bind(tmp_path, module, torch.randn(3, 6))
    module.double()
    with (
        torch.no_grad(),
        pytest.raises(Error, match=r"parameter 'weight' is \(4, 6\) of f32"),
    ):
        bound(torch.randn(3, 6))
    module.float()
    with (
        torch.no_grad(),
        pytest.raises(Error, match="input 'input' is .*not .3, 6. of torch.f"),
    ):
        bound(torch.randn(3, 6).half())
    lazy = nn.LazyLinear(4)
    with pytest.raises(
        Error, match="has not made its parameter 'weight' yet: call the"
    ):
        Library(tmp_path / "model.so").bind(lazy)
