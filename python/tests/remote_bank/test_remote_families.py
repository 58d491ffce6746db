# ===- test_remote_families.py - Families by a bank behind HTTP -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Families travel as winners do: by their digests, and what comes is checked."""

import filecmp
import hashlib
import json
import pathlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from banks import ROOT, User
from family_folders import FAMILIES, copied, sync
from servers import BazelRules, Liar, Nginx


@pytest.fixture
def user(tmp_path):
    return User(tmp_path / "home")


def test_all_come_as_they_were_sent(tmp_path, user):
    with Nginx(tmp_path) as server:
        said = sync(user, FAMILIES, server.url)
        count = len(list(FAMILIES.glob("*/*/family.json")))
        assert f"{count} families: {count} stored, 0 replaced, 0 there already, 0 left out" in said
        here = tmp_path / "here"
        said = sync(user, server.url, here)
        assert f"{count} families: {count} stored" in said
        for file in FAMILIES.glob("*/*/*"):
            assert filecmp.cmp(file, here / file.relative_to(FAMILIES), shallow=False)
        assert not list(here.glob("*/.*"))
        # Evidence has come, too: they are what was admitted.
        told = user.bank("families", here / "sm_90a")
        assert "contraction-wgmma" in told and told.count("admitted") >= 10
        # Again, nothing changes, on either side.
        assert f"{count} there already" in sync(user, server.url, here)
        assert f"{count} there already" in sync(user, FAMILIES, server.url)


def test_winners_and_families_share_a_bank(tmp_path, user):
    winners = ROOT / "test" / "Bank" / "Inputs" / "v1"
    with Nginx(tmp_path) as server:
        sync(user, copied(tmp_path / "mine", "host/contraction-panels"), server.url)
        assert "1 stored" in user.bank("sync", winners, server.url)
        assert "1 family: 1 stored" in sync(user, server.url, tmp_path / "here")
        assert "relu" in user.bank("list", server.url)


def test_one_target(tmp_path, user):
    with Nginx(tmp_path) as server:
        mine = copied(tmp_path / "mine", "host/contraction-panels", "sm_90a/scan-rows")
        assert "2 stored" in sync(user, mine, server.url)
        said = sync(user, server.url, tmp_path / "here", "--target=cuda:sm_90a")
        assert said.startswith("stored: sm_90a/scan-rows\n1 family")
        assert not (tmp_path / "here" / "host").exists()


def test_another_of_the_same_name_stays_unless_it_is_replaced(tmp_path, user):
    mine = copied(tmp_path / "mine", "sm_90a/scan-rows")
    with Nginx(tmp_path) as server:
        sync(user, mine, server.url)
        here = copied(tmp_path / "here", "sm_90a/scan-rows")
        changed = here / "sm_90a" / "scan-rows" / "kernel.cu"
        changed.write_text(changed.read_text() + "// Mine.\n")
        for arguments in ((here, server.url), (server.url, here)):
            said = sync(user, *arguments, expect=2)
            assert "left out: sm_90a/scan-rows: another family of that name" in said
        assert changed.read_text().endswith("// Mine.\n")
        assert "1 replaced" in sync(user, here, server.url, "--replace")
        assert "1 replaced" in sync(user, server.url, mine, "--replace")
        there = mine / "sm_90a" / "scan-rows" / "kernel.cu"
        assert there.read_text().endswith("// Mine.\n")


@pytest.mark.parametrize("kind", [Nginx, BazelRules])
def test_all_who_push_at_once_are_there(tmp_path, user, kind):
    """Neither looks at If-Match."""
    names = [str(each.parent.relative_to(FAMILIES)) for each in FAMILIES.glob("*/*/family.json")][:6]
    folders = [copied(tmp_path / f"of-{i}", name) for i, name in enumerate(names)]
    user.home.mkdir()
    with kind(tmp_path / "server") as server, ThreadPoolExecutor(len(folders)) as pool:
        told = list(pool.map(lambda folder: sync(user, folder, server.url), folders))
        assert all("1 family: " in each for each in told)
        said = sync(user, server.url, tmp_path / "here")
        assert f"{len(names)} families: {len(names)} stored" in said


#: What a server says instead of an object or of the list, and what is said of it.
LIES = {
    "damaged": (lambda body: body[:-10], "the server has lost or damaged it"),
    "another": (lambda body: body.replace(b"scan", b"scam"), "the server has lost or damaged it"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_is_damaged_is_left_out(tmp_path, user, name):
    change, text = LIES[name]

    def lie(handler, path, body):
        if "/cas/" not in str(path):
            return False
        handler.answer(200, change(body))
        return True

    mine = copied(tmp_path / "mine", "sm_90a/scan-rows")
    with Nginx(tmp_path) as server:
        sync(user, mine, server.url)
    files = next(each for each in tmp_path.rglob("cas")).parent
    with Liar(files, lie) as server:
        said = sync(user, server.url.rsplit("/", 1)[0], tmp_path / "here", expect=2)
    assert text in said and not list((tmp_path / "here").rglob("family.json"))


BAD_LISTS = {
    "not a list": b"[]",
    "a path": {"target": "sm_90a", "name": "../../evil", "object": "0" * 64},
    "a hidden target": {"target": ".ssh", "name": "evil", "object": "0" * 64},
    "no digest": {"target": "sm_90a", "name": "evil", "object": "x"},
}


@pytest.mark.parametrize("name", BAD_LISTS)
def test_a_list_that_is_none(tmp_path, user, name):
    entry = BAD_LISTS[name]
    if isinstance(entry, dict):
        entry = json.dumps({"fastk": "families", "format": 1, "families": [entry]}).encode()

    def lie(handler, path, body):
        handler.answer(200, entry)
        return True

    with Liar(tmp_path / "server", lie) as server:
        here = tmp_path / "here"
        said = sync(user, server.url, here, expect=1)
        assert "its list of families" in said and "nothing was changed" in said
    assert not here.exists() and not pathlib.Path(tmp_path / "evil").exists()


def test_what_is_no_family_is_left_out(tmp_path, user):
    mine = copied(tmp_path / "mine", "sm_90a/scan-rows")
    with BazelRules(tmp_path / "server") as server:
        sync(user, mine, server.url)
        # Somebody else's tool has stored another format, under its right digest.
        for text, why in (
            ('{"fastk": "winner", "format": 1, "files": {}}', "what the server has of it is no family"),
            (
                '{"fastk": "family", "format": 1, "files": {"family.json": "{}"}}',
                "left out: sm_90a/scan-rows: ",
            ),
        ):
            digest = hashlib.sha256(text.encode()).hexdigest()
            store = next(each for each in (tmp_path / "server").rglob("cas"))
            (store / digest).write_text(text)
            listed = next(each for each in (tmp_path / "server").rglob("ac")).iterdir()
            (place,) = [each for each in listed if b'"families"' in each.read_bytes()]
            value = json.loads(place.read_text())
            value["families"][0]["object"] = digest
            place.write_text(json.dumps(value))
            said = sync(user, server.url, tmp_path / "here", expect=2)
            assert why in said and not list((tmp_path / "here").rglob("family.json"))


def test_wrong_arguments_are_named(tmp_path, user):
    assert "is between a folder of families and a URL" in sync(user, FAMILIES, tmp_path, expect=1)
    said = sync(user, FAMILIES / "sm_90a" / "scan-rows", "http://127.0.0.1:1/x", expect=1)
    assert "is a family; name the folder that it is in" in said
    said = user.bank("sync", "--replace", tmp_path, "http://127.0.0.1:1/x", expect=1)
    assert "--replace is for families" in said
    said = sync(user, "--key=1f3a", FAMILIES, "http://127.0.0.1:1/x", expect=1)
    assert "--families takes --target and --replace" in said
    assert "127.0.0.1:1" in sync(user, FAMILIES, "http://127.0.0.1:1/x", expect=1)
