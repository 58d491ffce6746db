# ===- duel.py - A program beside Inductor's, measured here -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A program beside what Inductor makes of the same region, on this machine.

A winner was faster than fastk's default lowering where it was found; whether it is
faster than Inductor here nobody knows before both have run. Both are compiled by
Inductor into the same wrapper, called alternately in random order on the same operands,
and the program counts where the lower end of the interval of their ratio is above LEAST.
Inductor's is called twice a turn: where it differs from itself by more than NOISE, other
programs are at work, and nothing is concluded or kept.
"""

import dataclasses
import os
import platform
import random
import statistics
import time

import torch

#: How many times as fast a program has to be, at the lower end of the interval.
LEAST = 1.02
#: How far the interval of Inductor's ratio to itself may be from 1.
NOISE = 0.05
#: Pairs of measurements; of each, at least that many seconds.
PAIRS, SECONDS = 40, 100e-6
#: Seconds after which no further pair is measured, once there are FEWEST.
LONGEST, FEWEST = 10, 8
#: Seconds for which a GPU works before it is measured: it has idled while Inductor
#: compiled, at a low clock.
BUSY = 0.3
#: Written between two calls on a GPU, so that neither finds its operands in L2.
FLUSH_BYTES = 256 << 20
#: Differences that are taken for roundings, relative to the largest of a result: by
#: type, and of float32 where products may be of TF32.
TF32 = 5e-3
TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-4,
    torch.float16: 2e-2,
    torch.bfloat16: 5e-2,
}


@dataclasses.dataclass(frozen=True)
class Result:
    """Of a duel: seconds of a call each, and how many times as fast ours is."""

    ours: float
    inductors: float
    ratio: float
    low: float
    high: float
    #: Why the program is not used, whatever its time; empty: nothing.
    wrong: str = ""
    #: How far Inductor's times were from themselves, 0.02 for 2 %.
    noise: float = 0.0

    @classmethod
    def read(cls, store, name):
        """The one in a file of a store, or None."""
        known = store.read(name, [each.name for each in dataclasses.fields(cls)])
        return cls(**known) if known else None

    @property
    def is_settled(self):
        """Whether another measurement would most likely say the same."""
        return bool(self.wrong) or self.noise <= NOISE

    @property
    def is_won(self):
        return not self.wrong and self.is_settled and self.low > LEAST

    def text(self):
        if self.wrong:
            return self.wrong
        if not self.is_settled:
            return (
                f"the machine was too noisy to compare it with Inductor: Inductor's own "
                f"times differed by {self.noise:.0%}; the next process measures again"
            )
        return (
            f"{self.ratio:.2f} times as fast as Inductor's "
            f"({self.low:.2f} to {self.high:.2f}; {self.ours * 1e6:.1f} us and "
            f"{self.inductors * 1e6:.1f} us)"
        )


def machine(device):
    """What times depend on, as a text for names of files."""
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        what = f"{properties.name}-{torch.version.cuda}"
    else:
        what = f"{_processor()}-{torch.get_num_threads()}"
        wide = os.environ.get("FASTK_VECTOR_BYTES")
        what += f"-{wide}" if wide else ""
    return "".join(c if c.isalnum() else "-" for c in f"{what}-torch{torch.__version__}")


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def operands(values, device, indices=1):
    """Random tensors of the sizes, strides and types of fake ones.

    indices: integers are below it, as they may be places in a tensor.
    """
    generator = torch.Generator(device="cpu").manual_seed(1)
    how = {"generator": generator, "device": "cpu"}
    made = []
    for value in values:
        # All that its strides reach: elements may share memory, as those of an expand.
        reach = [(size - 1) * stride for size, stride in zip(value.shape, value.stride())]
        count = sum(reach) + 1 if value.numel() else 0
        if value.dtype.is_floating_point or value.dtype.is_complex:
            memory = torch.randn(count, dtype=torch.float32, **how)
        else:
            # A mask hides one of four.
            high = 4 if value.dtype == torch.bool else indices
            memory = torch.randint(high, (count,), **how)
        memory = memory.to(device, value.dtype)
        made.append(memory.as_strided(value.shape, value.stride()))
    return made


def indices_of(part):
    """What integers of a region may be, for operands."""
    sizes, computed = [], False
    for node in part.graph.nodes:
        value = node.meta.get("example_value", node.meta.get("val"))
        if not isinstance(value, torch.Tensor):
            continue
        is_number = not value.dtype.is_floating_point and value.dtype != torch.bool
        computed |= is_number and node.op != "placeholder"
        sizes += value.shape
    # A place in the shortest dimension is one in all; after arithmetic 0 is the safest.
    return 1 if computed else max(1, min(sizes, default=1))


def differs(got, wanted, precision="ieee"):
    """Where results differ by more than roundings: a text, else empty."""
    if len(got) != len(wanted):
        return f"there are {len(got)} results, PyTorch has {len(wanted)}"
    for index, (ours, theirs) in enumerate(zip(got, wanted)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return (
                f"result {index} is {tuple(ours.shape)} of {ours.dtype}, PyTorch's "
                f"{tuple(theirs.shape)} of {theirs.dtype}"
            )
        limit = TOLERANCE.get(theirs.dtype, 0)
        if "tf32" in precision and theirs.dtype == torch.float32:
            limit = TF32
        wide = torch.complex128 if theirs.is_complex() else torch.float64
        ours, theirs = ours.to(wide), theirs.to(wide)
        finite = theirs[theirs.isfinite()].abs()
        scale = finite.amax().item() if finite.numel() else 0
        if not torch.allclose(ours, theirs, rtol=limit, atol=limit * scale, equal_nan=True):
            worst = (ours - theirs).abs().nan_to_num(torch.inf).amax().item()
            return f"result {index} differs from PyTorch's by {worst:.3g} of {scale:.3g}"
    return ""


class HostClock:
    """Seconds of one call, as often as it takes to be measured."""

    def __init__(self):
        self.times = {}

    def prepare(self, calls):
        for call in calls:
            call()
            start = time.perf_counter()
            call()
            took = max(time.perf_counter() - start, 1e-7)
            self.times[call] = min(1000, int(SECONDS / took) + 1)

    def seconds(self, call):
        times = self.times[call]
        start = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - start) / times


class GpuClock:
    """Seconds of one call on the GPU's own clock, with an empty L2."""

    def __init__(self, device):
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)

    def prepare(self, calls):
        end = time.monotonic() + BUSY
        rounds = 0
        while rounds < 3 or time.monotonic() < end:
            for call in calls:
                call()
            self.flush.zero_()
            torch.cuda.synchronize()
            rounds += 1

    def seconds(self, call):
        # The host is ahead of the GPU while it writes, so its own time does not count.
        self.flush.zero_()
        self.begin.record()
        call()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3


def clock_of(device):
    return GpuClock(device) if device.type == "cuda" else HostClock()


def measure(ours, inductors, clock, pairs=PAIRS, seed=1):
    """A Result of two functions without arguments, called in turns."""
    order = random.Random(seed)
    clock.prepare([ours, inductors])
    # Both as often: of two equal graphs that wait for the host the one that was called
    # last is faster.
    times = {"ours": [], "ours again": [], "inductors": [], "inductors again": []}
    end = time.monotonic() + LONGEST
    for pair in range(pairs):
        if pair >= FEWEST and time.monotonic() > end:
            break
        turn = list(times)
        order.shuffle(turn)
        for which in turn:
            call = ours if which.startswith("ours") else inductors
            times[which].append(clock.seconds(call))
    first, second, third, fourth = times.values()
    ratios = [(c + d) / (a + b) for a, b, c, d in zip(first, second, third, fourth)]
    low, high = interval(ratios, order)
    same = [d / c for c, d in zip(third, fourth)]
    return Result(
        statistics.median(first + second),
        statistics.median(third + fourth),
        statistics.median(ratios),
        low,
        high,
        noise=max(abs(end - 1) for end in interval(same, order)),
    )


def interval(ratios, order, resamples=500):
    """The interval of 95 % of a median, by resampling."""
    medians = sorted(
        statistics.median(order.choices(ratios, k=len(ratios))) for _ in range(resamples)
    )
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]
