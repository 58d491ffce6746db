# ===- test_remote_strangers.py - Records that strangers made -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What a winner's record says is the word of whoever made it, as the index is.

A server that is not trusted may say that its winners are a thousand times as fast, and that
they give the same bits each time. The judge measures both, and only that counts.
"""

import json
import pathlib
import re
import shutil
import sys

import pytest
from banks import BIN, ROOT, User, hits, many
from servers import Liar, Nginx, repacked

#: What the server says, and what is measured.
LIED_GAIN, GAIN = 1234.0, 2.0


class Judge(User):
    """A user whose judge says what it is told."""

    def tell(self, gain=GAIN, incumbent=1.0, bits=True):
        self.bin.mkdir(exist_ok=True)
        for tool in ("fastk-opt", "fastk-bank"):
            if not (self.bin / tool).exists():
                shutil.copy(BIN / tool, self.bin / tool)
        families = self.bin.parent / "families"
        if not families.exists():
            families.symlink_to(ROOT / "families")
        worker = self.bin / "fastk-worker"
        script = pathlib.Path(__file__).with_name("told_worker.py").read_text()
        worker.write_text(f"#!{sys.executable}\n{script}")
        worker.chmod(0o755)
        told = {"gain": gain, "incumbent": incumbent, "bits": bits}
        (self.bin / "told.json").write_text(json.dumps(told))


@pytest.fixture
def user(tmp_path):
    user = Judge(tmp_path / "home", bin=tmp_path / "bin")
    user.tell()
    return user


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A model, and the files of a bank with its winner."""
    folder = tmp_path_factory.mktemp("honest")
    model, bank = many(folder, 1)
    with Nginx(folder) as server:
        User(folder / "owner").bank("sync", bank, server.url)
        return model, server.root / "bank"


def recorded(fields):
    """A change that puts fields into a record; those that it has are replaced."""

    def change(files):
        text = files["lowering.mlir"]
        for name, value in fields.items():
            text = re.sub(rf"\b{name} = (\{{[^}}]*\}}|[^,{{}}]+),\s*", "", text, count=1)
            text = text.replace("record = {", f"record = {{{name} = {value}, ", 1)
        files["lowering.mlir"] = text

    return change


def version(user):
    said = user.run("fastk-opt", "--version")
    return re.search(r"fastk version (\S+)", said).group(1)


def exaggerated(user, files):
    """A lie in which the winners are much faster, measured by this very version here."""
    gains = ", ".join(f"{name} = {LIED_GAIN:e} : f64" for name in ("high", "low", "median"))
    fields = {"speedup": f"{{{gains}}}", "fastk_version": f'"{version(user)}"'}
    return repacked(files, recorded(fields), lambda winner: winner.update(speedup=LIED_GAIN))


def gain_in(user, bank):
    (winner,) = json.loads(user.bank("list", bank, "--json"))["winners"]
    return winner["speedup"]


def test_the_gain_of_a_stranger_is_not_stored(honest, tmp_path, user):
    model, files = honest
    with Liar(files, exaggerated(user, files)) as server:
        assert gain_in(user, server.url) == LIED_GAIN
        said = user.bank("sync", server.url, tmp_path / "mine")
        assert "1 stored" in said and "records stay" not in said
        assert gain_in(user, tmp_path / "mine") == GAIN
        # Of a bank that is trusted it is.
        user.bank("sync", server.url + "#trusted", tmp_path / "believed")
        assert gain_in(user, tmp_path / "believed") == LIED_GAIN


def test_the_gain_of_a_stranger_keeps_no_slower_winner(honest, tmp_path, user):
    """Where the two are timed side by side."""
    model, files = honest
    mine, slower = tmp_path / "mine", 1.5
    user.tell(gain=slower)
    search = ["--search", "--proposer=catalog", "--budget=evaluations=2"]
    assert "stored in" in user.compile(model, mine, options=search)
    assert gain_in(user, mine) == slower
    user.tell(incumbent=slower)
    with Liar(files, exaggerated(user, files)) as server:
        said = user.bank("sync", server.url, mine)
        assert "1 replaced a slower one" in said, said
    assert gain_in(user, mine) == GAIN


def test_the_gain_of_a_stranger_contradicts_no_measurement(honest, tmp_path, user):
    model, files = honest
    # The winner that it begins with, and its second measurement.
    search = ["--search=all", "--proposer=catalog", "--budget=evaluations=2"]
    with Liar(files, exaggerated(user, files)) as server:
        said = user.bank("judge", server.url, "--all")
        assert "1 of 1 winners hold on this machine" in said
        assert hits(user.compile(model, server.url)) == (1, 0)
        # It begins with the winner, which gains what it gains here.
        own = tmp_path / "own"
        said = user.compile(model, own, server.url, options=search)
        assert "contradicted its record" not in said and "stored in" in said
        assert gain_in(user, own) == GAIN
        # Whoever trusts the bank is told instead.
        own = tmp_path / "believing"
        said = user.compile(model, own, server.url + "#trusted", options=search)
        assert "contradicted its record" in said and "stored in" not in said


def of_repeating_bits(files):
    """A lie in which the record and the index say that bits repeat."""
    return repacked(
        files,
        recorded({"bitwise_deterministic": "true"}),
        lambda winner: winner.update(deterministic=True),
    )


def test_a_stranger_does_not_say_that_bits_repeat(honest, tmp_path, user):
    model, files = honest
    options = ["--require-deterministic"]
    user.tell(bits=False)
    with Liar(files, of_repeating_bits(files)) as server:
        assert hits(user.compile(model, server.url, options=options)) == (0, 1)
        said = user.bank("judge", server.url, expect=2)
        assert "its record says that it gives the same bits each time, and here" in said
        # It does not hold, for nobody.
        for asked in options, []:
            assert hits(user.compile(model, server.url, options=asked)) == (0, 1)
        # What comes into a folder has the record of what was measured.
        mine = tmp_path / "mine"
        user.bank("sync", server.url, mine)
        assert hits(user.compile(model, mine, options=options)) == (0, 1)
        assert hits(user.compile(model, mine)) == (1, 0)


def test_what_repeats_its_bits_holds(honest, user):
    model, files = honest
    options = ["--require-deterministic"]
    with Liar(files, of_repeating_bits(files)) as server:
        assert hits(user.compile(model, server.url, options=options)) == (0, 1)
        user.bank("judge", server.url)
        assert hits(user.compile(model, server.url, options=options)) == (1, 0)


def test_the_index_alone_makes_no_winner_deterministic(honest, user):
    """Where records are believed it is the winner's, which has the digest."""
    model, files = honest
    options = ["--require-deterministic", "--explain-miss"]
    lie = repacked(files, lambda _: None, lambda winner: winner.update(deterministic=True))
    with Liar(files, lie) as server:
        place = server.url + "#trusted"
        assert hits(user.compile(model, place)) == (1, 0)
        said = user.compile(model, place, options=options)
        assert hits(said) == (0, 1)
        assert "not known to be deterministic: its record does not say so" in said
