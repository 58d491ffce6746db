# ===- test_remote_cost.py - What a bank behind HTTP costs a compile -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A compile of a hundred workloads, with nginx at a round trip of 20 ms.

    .venv/bin/python -m pytest python/tests/remote_bank/test_remote_cost.py -s

prints the table of docs/remote-bank.md: medians of seven runs, each beside a run with the
same winners in a folder.
"""

import shutil
import statistics
import time

import pytest
from banks import User, hits, many
from servers import Far, Nginx

COUNT, RUNS = 100, 7
ROUND_TRIP = 0.02


def part_of(bank, to, folders):
    for folder in folders:
        shutil.copytree(folder, to / "host" / folder.name)
    return to


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The model, its winners in a folder, and URLs by what the bank there has."""
    folder = tmp_path_factory.mktemp("world")
    model, own = many(folder, COUNT)
    large = folder / "large"
    large.mkdir()
    _, larger = many(large, 3 * COUNT)
    mine = {path.parent.name for path in own.rglob("lowering.mlir")}
    others = [
        path.parent
        for path in sorted(larger.rglob("lowering.mlir"))
        if path.parent.name not in mine
    ]
    banks = {
        "these 100": own,
        "300, these among them": larger,
        "100 others": part_of(larger, folder / "few", others[:COUNT]),
        "200 others": part_of(larger, folder / "more", others),
    }
    with Nginx(folder) as server, Far(server.port, ROUND_TRIP) as far:
        urls, server.banks = {}, banks
        for number, (name, bank) in enumerate(banks.items()):
            path = f"/bank/{number}"
            User(folder / "owner").bank(
                "sync", bank, f"http://127.0.0.1:{server.port}{path}"
            )
            urls[name] = f"http://127.0.0.1:{far.port}{path}#trusted"
        yield model, urls, server, tmp_path_factory.mktemp("users")


def measure(world, name, is_cached, suffix="", hit=COUNT):
    """Milliseconds longer than with a folder, requests, and in how many batches."""
    model, urls, server, homes = world
    folder = server.banks[name]
    longer, asked = [], 0
    for run in range(RUNS):
        user = User(homes / f"{name}-{is_cached}{suffix}-{run}")
        if is_cached:
            user.compile(model, urls[name])
        server.requests()
        times = []
        for bank in (folder, urls[name] + suffix):
            start = time.perf_counter()
            said = user.compile(model, bank)
            times.append(time.perf_counter() - start)
            assert hits(said) == (hit, COUNT - hit)
        longer.append(1000 * (times[1] - times[0]))
        asked = len(server.requests())
    return statistics.median(longer), asked


@pytest.mark.measures
def test_lookups_take_at_most_200_ms_more(world):
    again, slow = ",max-age=0", []
    rows = [
        ("100 others", False, "", 0),
        ("200 others", False, "", 0),
        ("these 100", False, "", COUNT),
        ("300, these among them", False, "", COUNT),
        ("these 100", True, again, COUNT),
        ("these 100", True, "", COUNT),
        ("300, these among them", True, "", COUNT),
        ("100 others", True, "", 0),
    ]
    print("\n| the bank has | of them in the cache | requests | longer, ms |")
    print("|---|---|---|---|")
    for name, is_cached, suffix, hit in rows:
        longer, asked = measure(world, name, is_cached, suffix, hit)
        cached = "all" if is_cached else "none"
        if is_cached and suffix:
            cached += ", index checked"
        print(f"| {name} | {cached} | {asked} | {longer:+.0f} |")
        # Lookups; a hundred winners that come for the first time are unpacked, too.
        fetches = hit and not is_cached
        slow += [name] * (longer > (500 if fetches else 200))
        if is_cached:
            assert asked == (1 if suffix else 0)
    assert not slow
