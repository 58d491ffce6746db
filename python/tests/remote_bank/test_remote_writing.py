# ===- test_remote_writing.py - Winners into a bank behind HTTP -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Who may write, what is replaced, several who write at once, and kills in between.

Credentials are seen by the server and by nobody else.
"""

import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time

import pytest
from banks import BIN, ROOT, User, hits, many, warnings
from servers import ROOT_PATH, BazelRules, Far, Liar, Nginx

SECRET = "open-sesame-4711"


@pytest.fixture
def user(tmp_path):
    return User(tmp_path / "home")


def netrc(user, text, mode=0o600):
    user.home.mkdir(exist_ok=True)
    path = user.home / ".netrc"
    path.write_text(text)
    path.chmod(mode)


def test_a_password_comes_from_netrc(tmp_path, user):
    model, bank = many(tmp_path, 2)
    with Nginx(tmp_path, users=f"ada:{{PLAIN}}{SECRET}\n") as server:
        said = user.bank("sync", bank, server.url, expect=1)
        assert "refuses (401)" in said and "~/.netrc" in said
        netrc(user, f"machine 127.0.0.1 login ada password {SECRET}\n")
        said = user.bank("sync", bank, server.url)
        assert "2 stored" in said and SECRET not in said
        # Reading needs none there.
        other = User(tmp_path / "other")
        assert hits(other.compile(model, server.url + "#trusted")) == (2, 0)


def test_a_wrong_password_is_not_shown(tmp_path, user):
    _, bank = many(tmp_path, 1)
    netrc(user, f"machine 127.0.0.1 login ada password {SECRET}\n")
    with Nginx(tmp_path, users="ada:{PLAIN}other\n", all_requests=True) as server:
        said = user.bank("sync", bank, server.url, expect=1)
        assert "refuses (401)" in said and SECRET not in said


def test_a_token_comes_from_the_variable_that_is_named(tmp_path, user):
    model, bank = many(tmp_path, 2)
    with Nginx(tmp_path, token=SECRET) as server:
        place = server.url + "#token=TEAM_TOKEN,trusted"
        said = user.bank("sync", bank, place, expect=1)
        assert "TEAM_TOKEN is not set" in said
        user.environment["TEAM_TOKEN"] = SECRET
        assert "2 stored" in user.bank("sync", bank, place)
        assert hits(user.compile(model, place)) == (2, 0)
        # Nobody else's variable is sent.
        said = user.compile(model, server.url + "#max-age=0")
        assert "refuses (401)" in said and len(warnings(said)) == 1
    for file in filter(pathlib.Path.is_file, tmp_path.rglob("*")):
        if file.name != "nginx.conf":
            assert SECRET.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("value", ["two words", "line\nbreak", ""])
def test_a_token_that_is_none_is_refused_and_not_shown(tmp_path, user, value):
    _, bank = many(tmp_path, 1)
    user.environment["TEAM_TOKEN"] = value
    said = user.bank("sync", bank, "https://127.0.0.1:1/x#token=TEAM_TOKEN", expect=1)
    assert "TEAM_TOKEN" in said and (not value or value not in said)


def test_no_credential_is_in_a_process_list(tmp_path, user):
    """The command line, which others see, holds the variable's name; no core file has what is in memory."""
    _, bank = many(tmp_path, 1)

    def lie(handler, path, body):
        time.sleep(60)
        return False

    with Liar(tmp_path, lie) as server:
        command = [BIN / "fastk-bank", "sync", bank, server.url + "#token=TEAM_TOKEN"]
        environment = dict(os.environ, TEAM_TOKEN=SECRET, HOME=str(tmp_path))
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            time.sleep(1)
            line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert SECRET.encode() not in line and b"TEAM_TOKEN" in line
            # From when it is read on; the server keeps the program waiting.
            until = time.monotonic() + 60
            while time.monotonic() < until:
                limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
                if re.search(r"Max core file size\s+1 ", limits):
                    break
                time.sleep(0.05)
            else:
                raise AssertionError(limits)
            process.kill()


def test_a_server_that_takes_no_put_says_so(tmp_path, user):
    _, bank = many(tmp_path, 1)
    with Liar(tmp_path) as server:
        said = user.bank("sync", bank, server.url, expect=1)
    assert "answers with status 501" in said or "takes no PUT" in said


def test_requests_are_what_bazel_remote_documents(tmp_path, user):
    model, bank = many(tmp_path, 150)
    with BazelRules(tmp_path / "files") as server:
        assert "150 stored" in user.bank("sync", bank, server.url)
        reader = User(tmp_path / "reader")
        assert hits(reader.compile(model, server.url + "#trusted")) == (150, 0)
        assert server.refused == []


def times(bank, factor):
    """The same winners, faster or slower by a factor; other objects."""
    for file in bank.rglob("lowering.mlir"):
        text = file.read_text()
        file.write_text(
            re.sub(
                r"median_ns = ([0-9.e+]+)",
                lambda found: f"median_ns = {float(found[1]) * factor:e}",
                text,
            )
        )


def test_of_two_the_faster_stays(tmp_path, user):
    _, bank = many(tmp_path, 3)
    with Nginx(tmp_path) as server:
        assert "3 stored" in user.bank("sync", bank, server.url)
        assert "3 not faster" in user.bank("sync", bank, server.url)
        times(bank, 1.005)
        assert "3 not faster" in user.bank("sync", bank, server.url)
        times(bank, 0.5)
        assert "3 replaced" in user.bank("sync", bank, server.url)
        assert user.bank("list", server.url).count("this machine") == 3


def test_a_stale_winner_is_not_sent(tmp_path, user):
    _, bank = many(tmp_path, 2)
    victim = sorted(bank.rglob("lowering.mlir"))[0]
    victim.write_text(victim.read_text().replace("arith.mulf", "arith.addf"))
    with Nginx(tmp_path) as server:
        said = user.bank("sync", bank, server.url, expect=2)
        assert "1 stored" in said and "1 left out" in said and "stale" in said
        assert "1 of 1 winners verified" in user.bank("verify", server.url)


def test_a_bank_grows_into_shards(tmp_path, user):
    model, bank = many(tmp_path, 300)
    folders = sorted(path.parent for path in bank.rglob("lowering.mlir"))
    with Nginx(tmp_path) as server:
        for part in range(0, 300, 75):
            some = tmp_path / f"part{part}" / "host"
            for folder in folders[part : part + 75]:
                shutil.copytree(folder, some / folder.name)
            assert "75 stored" in user.bank("sync", some.parent, server.url)
        said = User(tmp_path / "other").compile(model, server.url + "#trusted")
        assert hits(said) == (300, 0)
        root = json.loads((server.root / "bank" / ROOT_PATH.lstrip("/")).read_text())
        assert root["generation"] == 4
        assert root["targets"]["host"]["count"] == 300
        assert len(root["targets"]["host"]["shards"]) == 16


def test_several_who_push_at_once_lose_nothing(tmp_path, user):
    """nginx looks at no If-Match: who is overtaken reads again and adds its own."""
    model, bank = many(tmp_path, 40)
    folders = sorted(path.parent for path in bank.rglob("lowering.mlir"))
    with Nginx(tmp_path) as server:
        pushers = []
        for number in range(8):
            some = tmp_path / f"part{number}" / "host"
            for folder in folders[number::8]:
                shutil.copytree(folder, some / folder.name)
            pushers.append(
                subprocess.Popen(
                    [BIN / "fastk-bank", "sync", some.parent, server.url],
                    env=dict(os.environ, HOME=str(tmp_path / f"home{number}")),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )
        for pusher in pushers:
            said = pusher.communicate(timeout=120)[0]
            assert pusher.returncode == 0, said
            assert b"5 stored" in said
        assert hits(user.compile(model, server.url + "#trusted")) == (40, 0)


def test_a_push_that_is_killed_leaves_a_whole_bank(tmp_path, user):
    model, bank = many(tmp_path, 20)
    folders = sorted(path.parent for path in bank.rglob("lowering.mlir"))
    first = tmp_path / "first" / "host"
    for folder in folders[:5]:
        shutil.copytree(folder, first / folder.name)
    draw = random.Random(1)
    with Nginx(tmp_path) as server, Far(server.port, 0.02) as far:
        place = f"http://127.0.0.1:{far.port}/bank"
        user.bank("sync", first.parent, server.url)
        for _ in range(12):
            with subprocess.Popen(
                [BIN / "fastk-bank", "sync", bank, place],
                env=dict(os.environ, HOME=str(tmp_path / "pusher")),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process:
                time.sleep(draw.uniform(0.05, 0.4))
                process.kill()
            reader = User(tmp_path / f"reader{draw.random()}")
            said = reader.compile(model, server.url + "#trusted")
            assert hits(said) in [(5, 15), (20, 0)] and not warnings(said)
        # The same command goes on.
        user.bank("sync", bank, place)
        reader = User(tmp_path / "last")
        assert hits(reader.compile(model, server.url + "#trusted")) == (20, 0)


def test_a_mirror_has_the_same_winners(tmp_path, user):
    model, bank = many(tmp_path, 5)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Nginx(tmp_path / "a") as here, Nginx(tmp_path / "b") as there:
        user.bank("sync", bank, here.url)
        assert "5 stored" in user.bank("sync", here.url, there.url)
        # From one that is trusted they come as they are.
        back = tmp_path / "back"
        assert "5 stored" in user.bank("sync", there.url + "#trusted", back)
        assert hits(user.compile(model, back)) == (5, 0)
        assert "5 of 5 winners verified" in user.bank("verify", back)
    said = user.bank("sync", bank, tmp_path / "x", expect=1)
    assert "fastk-bank merge" in said


def test_from_a_bank_that_is_not_trusted_only_what_is_judged_comes(tmp_path, user):
    """The judge cannot tell here: f16 products of these sizes have no range."""
    _, bank = many(tmp_path, 2)
    with Nginx(tmp_path) as server:
        user.bank("sync", bank, server.url)
        said = user.bank("sync", server.url, tmp_path / "mine", expect=2)
        assert "2 left out" in said and not (tmp_path / "mine" / "host").exists()


def test_a_search_sends_what_is_in_its_folder(tmp_path, user):
    """All has a winner there, so that nothing has to be measured."""
    model, found = many(tmp_path, 3)
    options = ["--search", "--bank-push"]
    with Nginx(tmp_path, users=f"ada:{{PLAIN}}{SECRET}\n") as server:
        # What fails is a warning.
        said = user.compile(model, found, server.url, options=options)
        assert hits(said) == (3, 0) and "refuses (401)" in said
        assert f"the winners are safe in {found}" in said
        netrc(user, f"machine 127.0.0.1 login ada password {SECRET}\n")
        said = user.compile(model, found, server.url, options=options)
        assert f"sent 3 of 3 winners to {server.url}" in said
        said = user.compile(model, found, server.url, options=options)
        assert f"sent 0 of 3 winners to {server.url}" in said
        # Without the option nothing is sent.
        server.requests()
        user.compile(model, found, server.url, options=["--search"])
        assert all(method == "GET" for method, _, _ in server.requests())
    said = user.compile(model, found, options=options, expect=1)
    assert "--bank-push sends winners to a remote bank" in said
    said = user.compile(model, server.url, options=["--bank-push"], expect=1)
    assert "--bank-push is for a search" in said


def until(wanted, run):
    """Runs until it says what is wanted: a busy machine cannot tell, and the same command goes on."""
    end = time.monotonic() + 300
    while wanted not in (said := run()):
        assert time.monotonic() < end, said


@pytest.mark.measures
def test_what_one_found_another_judges_and_uses(tmp_path):
    """From a search to a compile of somebody else, by way of their judge.

    A product of integers, far below what its variant reaches: noise hides no winner.
    """
    inputs = ROOT / "test" / "Driver" / "Inputs" / "int_matmul"
    model = inputs / "model.mlir"
    with Nginx(tmp_path) as server:
        finder = User(tmp_path / "finder")
        options = ["--search", "--budget=evaluations=20", "--bank-push"]
        options += [f"--proposer=files:{inputs / 'variants'}"]
        until(
            "sent 1 of 1 winner",
            lambda: finder.compile(
                model, tmp_path / "found", server.url, options=options
            ),
        )
        other = User(tmp_path / "other")
        assert hits(other.compile(model, server.url)) == (0, 1)
        until(
            "1 of 1 winners hold on this machine",
            lambda: other.run_any("fastk-bank", "judge", server.url),
        )
        assert hits(other.compile(model, server.url)) == (1, 0)
        # A judgement is for one machine and one object.
        assert hits(User(tmp_path / "third").compile(model, server.url)) == (0, 1)


@pytest.mark.measures
def test_a_search_begins_with_what_nobody_judged(tmp_path, user):
    """It is evaluated as any variant, and stored in the folder or not."""
    inputs = ROOT / "test" / "Bank" / "Inputs" / "v1"
    model = ROOT / "test" / "Driver" / "Inputs" / "relu.mlir"
    with Nginx(tmp_path) as server:
        User(tmp_path / "owner").bank("sync", inputs, server.url)
        options = ["--winners-from=any", "--search", "--budget=evaluations=1"]
        places = (tmp_path / f"own{number}" for number in itertools.count())
        until(
            "all threads, whole vectors (unroll=4)",
            lambda: user.compile(model, next(places), server.url, options=options),
        )
