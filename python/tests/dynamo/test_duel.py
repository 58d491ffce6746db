# ===- test_duel.py - A program beside Inductor's -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A program counts where it is right, and faster by more than the noise.

Times are made up; what a real clock says is the user's machine's affair.
"""

import itertools
import random

import pytest
import torch
from worlds import capture

from fastk.dynamo import backend, compiler, duel, regions
from fastk.dynamo.store import Store

CPU = torch.device("cpu")
SETTINGS = compiler.Settings("host")
X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Clock:
    """Calls take what was planned."""

    def __init__(self, seconds, noise=0.0):
        self.planned, self.noise = seconds, random.Random(1)
        self.spread, self.prepared, self.calls = noise, [], []

    def prepare(self, calls):
        self.prepared = list(calls)

    def seconds(self, call):
        self.calls.append(call())
        return self.planned[call()] * (1 + self.spread * self.noise.uniform(-1, 1))


def held(ours, theirs, noise=0.0, **options):
    clock = Clock({"ours": ours, "theirs": theirs}, noise)
    return duel.measure(lambda: "ours", lambda: "theirs", clock, **options), clock


def test_won():
    result, _ = held(1e-6, 2e-6, 0.05)
    assert result.is_won and result.low > 1.8 and result.low <= result.ratio <= result.high
    assert result.ours == pytest.approx(1e-6, rel=0.05)
    assert result.text().startswith(f"{result.ratio:.2f} times as fast as Inductor's")


def test_a_machine_that_is_too_noisy_concludes_nothing():
    """Inductor's differs from itself: however fast ours seems, it is not used or kept."""
    result, _ = held(1e-6, 5e-6, 0.6)
    assert result.low > duel.LEAST and result.noise > duel.NOISE
    assert not result.is_settled and not result.is_won
    assert "too noisy" in result.text() and "measures again" in result.text()


@pytest.mark.parametrize(
    "ours, theirs, noise",
    [(2e-6, 1e-6, 0.0), (1e-6, 1e-6, 0.3), (1e-6, 1.02e-6, 0.0), (1.0, 1.015, 0.0)],
)
def test_lost(ours, theirs, noise):
    result, _ = held(ours, theirs, noise)
    assert not result.is_won


def test_a_gain_within_the_noise_is_lost():
    result, _ = held(1e-6, 1.05e-6, 0.9)
    assert result.low < 1 < result.high and not result.is_won


def test_turns():
    """Of each turn half are ours, in an order that is random and the same the next time:
    Inductor's is compared with itself, too."""
    _, clock = held(1e-6, 2e-6)
    assert len(clock.calls) == 4 * duel.PAIRS
    turns = {tuple(clock.calls[n : n + 4]) for n in range(0, 4 * duel.PAIRS, 4)}
    assert len(turns) == 6 and all(turn.count("ours") == 2 for turn in turns)
    assert held(1e-6, 2e-6)[1].calls == clock.calls
    assert [call() for call in clock.prepared] == ["ours", "theirs"]


def test_slow_calls_are_measured_less_often(monkeypatch):
    ticks = itertools.count(0, 11)
    monkeypatch.setattr(duel.time, "monotonic", lambda: next(ticks))
    _, clock = held(3, 6)
    assert len(clock.calls) == 4 * duel.FEWEST


def test_a_call_of_the_host_is_timed_as_often_as_it_needs(monkeypatch):
    now = [0.0]
    took = {"quick": 1e-6, "slow": 1.0}
    counts = dict.fromkeys(took, 0)

    def quick():
        counts["quick"] += 1
        now[0] += took["quick"]

    def slow():
        counts["slow"] += 1
        now[0] += took["slow"]

    monkeypatch.setattr(duel.time, "perf_counter", lambda: now[0])
    clock = duel.HostClock()
    clock.prepare([quick, slow])
    assert clock.seconds(quick) == pytest.approx(1e-6)
    assert clock.seconds(slow) == pytest.approx(1.0)
    # Two to see how long it takes.
    assert counts["slow"] == 3 and counts["quick"] > 100


def test_the_interval_of_a_median():
    low, high = duel.interval([1.0, 2.0, 3.0] * 20, random.Random(1))
    assert 1 <= low <= 2 <= high <= 3
    assert duel.interval([1.5] * 9, random.Random(1)) == (1.5, 1.5)


GOOD = torch.linspace(-2, 3, 100).reshape(10, 10)


def spoiled(place, value):
    result = GOOD.clone()
    result[place] = value
    return result


WRONG = [
    torch.zeros_like(GOOD), GOOD + 0.01, spoiled((3, 3), 0.5), spoiled((0, 0), torch.nan),
    spoiled((9, 9), torch.inf), GOOD.t(), -GOOD, torch.full_like(GOOD, torch.nan),
    torch.full_like(GOOD, GOOD.mean()), GOOD[:1], GOOD.double(), GOOD[None], GOOD[0, 0],
]  # fmt: skip


@pytest.mark.parametrize("got", WRONG, ids=range(len(WRONG)))
def test_wrong_results(got):
    assert duel.differs([GOOD, got], [GOOD, GOOD]).startswith("result 1 ")
    assert duel.differs([GOOD], [got]).startswith("result 0 ")


def test_right_results():
    assert not duel.differs([GOOD], [GOOD])
    assert not duel.differs([GOOD * (1 + 1e-6)], [GOOD])
    special = spoiled((0, slice(0, 3)), torch.tensor([torch.nan, torch.inf, -torch.inf]))
    assert not duel.differs([special.clone()], [special])
    assert duel.differs([GOOD], [special])
    assert not duel.differs([torch.empty(0)], [torch.empty(0)])
    assert not duel.differs([GOOD > 0, GOOD.long()], [GOOD > 0, GOOD.long()])
    assert duel.differs([GOOD.long() + 1], [GOOD.long()])
    assert duel.differs([GOOD < 0], [GOOD > 0])
    assert duel.differs([GOOD], [GOOD, GOOD])
    assert not duel.differs([GOOD * (1 + 1j)], [GOOD * (1 + 1j)])
    assert duel.differs([GOOD * (1 + 1j)], [GOOD * (1 - 1j)])


def test_roundings_are_larger_where_torch_allows_them():
    rounded = GOOD * (1 + 1e-3)
    assert duel.differs([rounded], [GOOD]) and not duel.differs([rounded], [GOOD], "tf32")
    assert not duel.differs([rounded.half()], [GOOD.half()])
    assert duel.differs([rounded.double()], [GOOD.double()], "tf32")


VALUES = [
    X, X.t(), X[1:], X[:, ::2], X[:1].expand(5, 4), X.half(), X.to(torch.bfloat16),
    X.double(), X.to(torch.complex64), torch.empty(0, 4), torch.tensor(1.0),
    torch.zeros(4, 5, dtype=torch.bool), torch.zeros(4, dtype=torch.int32),
]  # fmt: skip


def test_operands():
    made = duel.operands(VALUES, CPU, indices=3)
    for tensor, value in zip(made, VALUES):
        assert tensor.shape == value.shape and tensor.dtype == value.dtype
        assert tensor.stride() == value.stride()
    assert made[0].std() > 0.3 and made[0].unique().numel() == 12
    # An expanded tensor has its elements in one place.
    assert torch.equal(made[4][0], made[4][4])
    assert set(made[11].unique().tolist()) == {False, True}
    assert 0 <= made[12].min() and made[12].max() < 3
    again = duel.operands(VALUES, CPU, indices=3)
    assert all(torch.equal(one, other) for one, other in zip(made, again))


def test_operands_do_not_depend_on_defaults():
    state = torch.get_rng_state()
    torch.set_default_device("meta")
    try:
        (made,) = duel.operands([X], CPU)
    finally:
        torch.set_default_device(None)
    assert made.device == CPU and torch.equal(state, torch.get_rng_state())


def part_of(function, *inputs):
    module, _ = capture(function, *inputs)
    return module


PLACES = torch.tensor([2, 0, 1])


def test_places_stay_in_range():
    def look_up(table, places):
        return torch.nn.functional.embedding(places, table) * 2

    module = part_of(look_up, torch.ones(7, 5), PLACES)
    # Of the shortest dimension that there is: that of the places.
    assert duel.indices_of(module) == 3
    # Who computes with them may leave any range but that of 0.
    shifted = part_of(lambda table, places: table[places + 4], torch.ones(7, 5), PLACES)
    assert duel.indices_of(shifted) == 1
    scalar = part_of(lambda x, n: x * n, X, torch.tensor(2))
    assert duel.indices_of(scalar) == 3
    single = part_of(lambda x, n: x[n], torch.ones(1, 4), torch.tensor([0, 0]))
    assert duel.indices_of(single) == 1


def test_the_machine():
    name = duel.machine(CPU)
    assert name == duel.machine(CPU) and "torch" in name
    assert all(c.isalnum() or c == "-" for c in name)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    assert duel.machine(CPU) != name
    torch.set_num_threads(threads)


library = torch.library.Library("fastk_duel", "DEF")
library.define("right(Tensor a) -> Tensor")
library.impl("right", lambda a: a * 2 + 1, "CompositeExplicitAutograd")
library.define("zeros(Tensor a) -> Tensor")
library.impl("zeros", torch.zeros_like, "CompositeExplicitAutograd")



@pytest.fixture
def hold(tmp_path, monkeypatch):
    """Holds duels of ops of this file: (a Result, whether it was measured).

    The clock is made up, and nothing is compiled.
    """
    measured = []
    measure = duel.measure

    def planned(ours, theirs, clock):
        measured.append((ours(), theirs()))
        seconds = Clock({"ours": 1e-6, "theirs": 2e-6})
        return measure(lambda: "ours", lambda: "theirs", seconds)

    monkeypatch.setattr(duel, "measure", planned)
    monkeypatch.setattr(backend, "compiled", lambda module, inputs, config: module)
    part = part_of(lambda x: x * 2 + 1, X)

    def run(name="right", values=(X,), config=None, settings=SETTINGS, what="key-digest"):
        op = getattr(torch.ops.fastk_duel, name).default
        rewriter = backend.Rewriter(settings, CPU, config or {}, Store(tmp_path))
        before = len(measured)
        result = rewriter.duel(part, op, list(values), what)
        return result, len(measured) > before

    return run


def test_a_result_is_kept(hold):
    result, measured = hold()
    assert result.is_won and measured
    assert hold() == (result, False)


def test_a_lost_duel_is_not_held_again(hold, monkeypatch):
    lost = duel.Result(2e-6, 1e-6, 0.5, 0.4, 0.6)
    monkeypatch.setattr(duel, "measure", lambda *arguments: lost)
    assert hold() == (lost, False) and not lost.is_won
    monkeypatch.setattr(duel, "measure", None)
    assert hold() == (lost, False)


def test_wrong_results_lose_whatever_the_time(hold):
    result, measured = hold("zeros")
    assert not measured and not result.is_won and "differs from PyTorch's" in result.text()
    assert hold("zeros") == (result, False)


@pytest.mark.parametrize(
    "other",
    [
        {"what": "another-digest"},
        {"values": (X.t().contiguous().t(),)},
        {"config": {"max_autotune": True}},
        {"settings": compiler.Settings("host", "tf32")},
        {"settings": compiler.Settings("host", deterministic=True)},
    ],
    ids=lambda each: next(iter(each)),
)
def test_it_is_held_again_where_things_are_others(hold, other):
    hold()
    assert hold(**other)[1]
    assert not hold(**other)[1] and not hold()[1]


def test_it_is_held_again_for_another_torch_and_other_threads(hold, monkeypatch):
    hold()
    monkeypatch.setattr(torch, "__version__", "9.9.9")
    assert hold()[1]
    monkeypatch.undo()


def test_results_share_nothing_with_the_graph_that_is_compiled():
    """Of a duel in a compilation: no fake tensors, no gradients."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        values = [torch.empty(3, 4)]
    (made,) = duel.operands(values, CPU)
    assert not isinstance(made, FakeTensor)
    graph = regions.graph_of(torch.ops.fastk_duel.right.default, 1, [made])
    assert torch.equal(graph(made)[0], made * 2 + 1)
