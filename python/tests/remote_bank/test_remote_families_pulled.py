# ===- test_remote_families_pulled.py - What a pull must not harm -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A pull that is killed, cut off or lied to leaves what was there, and says what became of it."""

import hashlib
import json
import os
import shutil
import time

import pytest
from banks import BIN, User
from family_folders import copied, sync, texts
from servers import BazelRules

NAME = "sm_90a/scan-rows"
#: unittests/Faults/FileFaults.h: a file system that kills, or exchanges no names.
SHIM = BIN.parent / "lib" / "libFastkFileFaults.so"
KILL_BEFORE, KILL_AFTER, NO_EXCHANGE = 1, 2, 9


@pytest.fixture
def user(tmp_path):
    return User(tmp_path / "home")


@pytest.fixture
def server(tmp_path, user):
    """A server with another scan-rows than fastk's."""
    changed = copied(tmp_path / "sent", NAME)
    program = changed / NAME / "kernel.cu"
    program.write_text(program.read_text() + "// Sent.\n")
    with BazelRules(tmp_path / "server") as server:
        sync(user, changed, server.url)
        yield server


def hidden(folder):
    return [each for each in folder.rglob(".*") if each.is_dir()]


def with_fault(user, fault, at, folder):
    """The user, where that befalls the at-th change below the folder."""
    faults = {"LD_PRELOAD": str(SHIM), "FASTK_FAULT": f"{fault} {at} {folder}/"}
    return User(user.home, faults)


def change_object(server, change):
    """Changes the files of the one family's object, as whoever stores another can."""
    (place,) = (server.root / "ac").iterdir()
    value = json.loads(place.read_text())
    (family,) = value["families"]
    object = json.loads((server.root / "cas" / family["object"]).read_text())
    change(object["files"])
    text = json.dumps(object)
    family["object"] = hashlib.sha256(text.encode()).hexdigest()
    (server.root / "cas" / family["object"]).write_text(text)
    place.write_text(json.dumps(value))


def test_what_a_killed_pull_left_harms_nobody(tmp_path, user, server):
    here = copied(tmp_path / "here", "sm_90a/contraction-wgmma")
    left = here / "sm_90a" / ".incoming-abcdef"
    copied(left, NAME)
    young = here / "sm_90a" / ".incoming-fedcba"
    young.mkdir()
    told = user.bank("families", here)
    assert "contraction-wgmma" in told and "scan-rows" not in told
    # Not before an hour: it might be another pull's that is still going on.
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine")
    (left / "link").symlink_to(kept)
    hour_ago = time.time() - 3700
    os.utime(left, (hour_ago, hour_ago))
    sync(user, server.url, here)
    assert hidden(here) == [young] and (kept / "mine").exists()


@pytest.mark.parametrize("fault", [KILL_BEFORE, KILL_AFTER])
def test_a_kill_leaves_the_old_family_or_the_new(tmp_path, user, server, fault):
    old, new = (texts(each / NAME) for each in (copied(tmp_path / "old", NAME), tmp_path / "sent"))
    here = tmp_path / "here"
    for at in range(1, 100):
        shutil.rmtree(here, ignore_errors=True)
        copied(here, NAME)
        killed = with_fault(user, fault, at, here)
        said = sync(killed, server.url, here, "--replace", expect=None)
        assert texts(here / NAME) in (old, new), f"call {at}: {said}"
        if "1 family" in said:
            break
    assert 8 < at < 99 and "1 replaced" in said
    assert texts(here / NAME) == new and not hidden(here)


def test_without_an_exchange_the_old_family_stays(tmp_path, user, server):
    here = copied(tmp_path / "here", NAME)
    old = texts(here / NAME)
    said = sync(with_fault(user, NO_EXCHANGE, 0, here), server.url, here, "--replace", expect=2)
    assert f"left out: {NAME}: this file system cannot put it in the place of" in said
    assert texts(here / NAME) == old and not hidden(here)


def test_other_files_are_not_lost(tmp_path, user, server):
    here = copied(tmp_path / "here", NAME)
    notes = here / NAME / "notes.md"
    notes.write_text("mine")
    said = sync(user, server.url, here, "--replace", expect=2)
    assert f"left out: {NAME}: {notes} is no file of a family and would be lost" in said
    assert notes.read_text() == "mine"
    notes.unlink()
    assert "1 replaced" in sync(user, server.url, here, "--replace")


def test_a_link_is_not_replaced(tmp_path, user, server):
    mine = copied(tmp_path / "mine", NAME)
    here = tmp_path / "here" / NAME
    here.parent.mkdir(parents=True)
    here.symlink_to(mine / NAME)
    said = sync(user, server.url, tmp_path / "here", "--replace", expect=2)
    assert f"{here} is no folder; move it away first" in said and here.is_symlink()


@pytest.mark.parametrize("name", ["kernel.cu", "plan.json", "evidence.json"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, user, name):
    mine = copied(tmp_path / "mine", NAME)
    file = mine / NAME / name
    file.rename(tmp_path / name)
    file.symlink_to(tmp_path / name)
    with BazelRules(tmp_path / "server") as server:
        said = sync(user, mine, server.url, expect=1)
        assert f"{file}: cannot read: " in said and "symbolic links" in said
        # What is no part of every family may be missing.
        file.unlink()
        if name == "evidence.json":
            assert "1 stored" in sync(user, mine, server.url)
        else:
            assert f"{file}: cannot read: " in sync(user, mine, server.url, expect=1)


@pytest.mark.parametrize("name", ["kernel.cu", "plan.json"])
def test_what_comes_without_a_file_is_told_without_the_folder(tmp_path, user, server, name):
    change_object(server, lambda files: files.pop(name))
    said = sync(user, server.url, tmp_path / "here", expect=2)
    assert f"left out: {NAME}: {name}: cannot read: " in said and "incoming" not in said


def test_what_comes_has_no_other_files(tmp_path, user, server):
    change_object(server, lambda files: files.update({"Makefile": "all:"}))
    said = sync(user, server.url, tmp_path / "here", expect=2)
    assert "what the server has of it is no family: it has Makefile" in said
    assert not (tmp_path / "here" / NAME).exists()


def test_a_server_writes_no_control_characters(tmp_path, user, server):
    def change(files):
        files["family.json"] = '{"\\u001b]52;c;evil\\u0007": 1, ' + files["family.json"].lstrip()[1:]

    change_object(server, change)
    said = sync(user, server.url, tmp_path / "here", expect=2)
    assert "unknown field" in said and "]52;c;evil" in said
    assert "\x1b" not in said and "\x07" not in said and "incoming" not in said


def test_titles_have_no_control_characters(tmp_path, user, server):
    def change(files):
        rules = json.loads(files["family.json"])
        files["family.json"] = json.dumps(rules | {"title": "\x1b]52;c;evil\x07"})

    change_object(server, change)
    sync(user, server.url, tmp_path / "here")
    told = user.bank("families", tmp_path / "here")
    assert "]52;c;evil" in told and "\x1b" not in told


def test_a_server_that_fails_in_the_middle_is_an_error(tmp_path, user):
    mine = copied(tmp_path / "mine", "host/contraction-panels", NAME)
    here, asked = tmp_path / "here", []

    def fail(handler, path, body):
        asked.append(path)
        if sum("/cas/" in each for each in asked) < 2:
            return False
        handler.answer(503, b"")
        return True

    with BazelRules(tmp_path / "server") as server:
        sync(user, mine, server.url)
        server.lie = fail
        said = sync(user, server.url, here, expect=1)
        assert said.startswith("stored: host/contraction-panels\n")
        assert f"error: bank {server.url}: answers with status 503" in said
        assert "what came until now stays; the same command goes on" in said
        assert "left out" not in said
        server.lie = lambda handler, path, body: False
        assert "2 families: 1 stored, 0 replaced, 1 there already" in sync(user, server.url, here)
