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
#: Written between two calls on a GPU, so that neither finds its operands in L2.
FLUSH_BYTES = 256 << 20
#: Differences that are taken for roundings, relative to the largest of a result.
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


def operands(values, device):
    """Random tensors of the sizes, strides and types of fake ones."""
    generator = torch.Generator(device="cpu").manual_seed(1)
    made = []
    for value in values:
        if value.dtype.is_floating_point:
            spread = torch.randn(value.shape, generator=generator, dtype=torch.float32)
        else:
            # In range, whatever it counts.
            spread = torch.zeros(value.shape)
        tensor = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=device
        )
        made.append(tensor.copy_(spread.to(value.dtype)))
    return made


def differs(got, wanted):
    """Where results differ by more than roundings: a text, else empty."""
    for index, (ours, theirs) in enumerate(zip(got, wanted)):
        limit = TOLERANCE.get(theirs.dtype, 0)
        ours, theirs = ours.double(), theirs.double()
        scale = theirs.abs().nan_to_num(0, 0, 0).amax().item() if theirs.numel() else 0
        if not torch.allclose(ours, theirs, rtol=limit, atol=limit * scale, equal_nan=True):
            worst = (ours - theirs).abs().nan_to_num(torch.inf).amax().item()
            return f"result {index} differs from PyTorch's by {worst:.3g} of {scale:.3g}"
    return ""


class HostClock:
    """Seconds of one call, as often as it takes to be measured."""

    def __init__(self):
        self.times = 1

    def prepare(self, calls):
        for call in calls:
            call()
            start = time.perf_counter()
            call()
            took = max(time.perf_counter() - start, 1e-7)
            self.times = max(self.times, min(1000, int(SECONDS / took) + 1))

    def seconds(self, call):
        start = time.perf_counter()
        for _ in range(self.times):
            call()
        return (time.perf_counter() - start) / self.times


class GpuClock:
    """Seconds of one call on the GPU's own clock, with an empty L2."""

    def __init__(self, device):
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)

    def prepare(self, calls):
        for call in calls * 3:
            call()
        torch.cuda.synchronize()

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
    times = {"ours": [], "inductors": [], "again": []}
    for _ in range(pairs):
        turn = list(times)
        order.shuffle(turn)
        for which in turn:
            call = ours if which == "ours" else inductors
            times[which].append(clock.seconds(call))
    low, high, ratio = interval(times["ours"], times["inductors"], order)
    noise = interval(times["again"], times["inductors"], order)
    return Result(
        statistics.median(times["ours"]),
        statistics.median(times["inductors"]),
        ratio,
        low,
        high,
        noise=max(abs(noise[0] - 1), abs(noise[1] - 1)),
    )


def interval(below, above, order, resamples=500):
    """(low, high, median) of the ratios of pairs: 95 % of medians, by resampling."""
    ratios = [b / a for a, b in zip(below, above)]
    medians = sorted(
        statistics.median(order.choices(ratios, k=len(ratios))) for _ in range(resamples)
    )
    return (
        medians[int(0.025 * resamples)],
        medians[int(0.975 * resamples) - 1],
        statistics.median(ratios),
    )
