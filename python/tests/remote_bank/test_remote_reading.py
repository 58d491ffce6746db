# ===- test_remote_reading.py - Winners that a server holds -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What a compile asks of a bank behind nginx, what it uses, and what it says."""

import shutil

import pytest
from banks import User, hits, many, warnings
from servers import ROOT_PATH, Far, Nginx

COUNT = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, a folder of winners for it, and nginx that has them."""
    folder = tmp_path_factory.mktemp("made")
    model, bank = many(folder, COUNT)
    with Nginx(tmp_path_factory.mktemp("nginx")) as server:
        User(folder / "owner").bank("sync", bank, server.url)
        yield model, bank, server


@pytest.fixture
def user(tmp_path):
    return User(tmp_path / "home")


def test_what_a_trusted_bank_has_is_used_and_asked_for_once(made, user):
    model, _, server = made
    server.requests()
    said = user.compile(model, server.url + "#trusted")
    assert hits(said) == (COUNT, 0) and not warnings(said)
    asked = server.requests()
    assert len(asked) == len(set(asked)) == COUNT + 1
    assert asked[0] == ("GET", ROOT_PATH, 200)
    # All else is named by its digest.
    assert all(path.startswith("/cas/") for _, path, _ in asked[1:])

    said = user.compile(model, server.url + "#trusted")
    assert hits(said) == (COUNT, 0) and server.requests() == []
    said = user.compile(model, server.url + "#trusted,max-age=0")
    assert hits(said) == (COUNT, 0)
    assert server.requests() == [("GET", ROOT_PATH, 304)]


def test_the_result_is_that_of_a_folder(made, user, tmp_path):
    model, bank, server = made
    user.run("fastk-opt", model, f"--bank={bank}", "-o", tmp_path / "folder.mlir")
    for name in ("first", "cached"):
        user.run(
            "fastk-opt", model, f"--bank={server.url}#trusted", "-o", tmp_path / name
        )
        assert (tmp_path / name).read_text() == (tmp_path / "folder.mlir").read_text()


def test_what_nobody_judged_is_not_used_and_the_miss_says_what_to_do(made, user):
    model, _, server = made
    said = user.compile(model, server.url, options=["--explain-miss"])
    assert hits(said) == (0, COUNT) and not warnings(said)
    assert "was not judged on this machine" in said
    assert f"fastk-bank judge {server.url}" in said and "#trusted" in said
    # Nor is it fetched.
    assert not (user.cache / "banks" / "winners").exists()


def test_a_folder_before_it_goes_first(made, user, tmp_path):
    model, bank, server = made
    said = user.compile(model, bank, server.url)
    assert hits(said) == (COUNT, 0)
    said = user.compile(model, server.url, bank)
    assert hits(said) == (COUNT, 0)


def test_a_pass_of_a_pipeline_reads_it(made, user):
    model, _, server = made
    place = f"bank={server.url}#trusted"
    said = user.run(
        "fastk-opt",
        model,
        f"--fastk-form-workloads={place}",
        f"--fastk-apply-winners={place}",
    )
    assert said.count("fastk.call @") == COUNT


def test_the_environment_names_urls_among_folders(made, user, tmp_path):
    model, _, server = made
    user.environment["FASTK_BANK"] = f"{tmp_path}:{server.url}#trusted:/nowhere"
    assert hits(user.compile(model)) == (COUNT, 0)


def test_a_server_that_is_gone_is_one_warning_and_what_is_cached_is_used(
    tmp_path, user
):
    model, bank = many(tmp_path, COUNT)
    with Nginx(tmp_path) as server:
        place = server.url + "#trusted,max-age=0"
        user.bank("sync", bank, server.url)
        assert hits(user.compile(model, place)) == (COUNT, 0)
        server.stop()
        said = user.compile(model, place)
        assert hits(said) == (COUNT, 0) and len(warnings(said)) == 1
        # On a machine that has never seen it all are misses.
        other = User(tmp_path / "other")
        said = other.compile(model, place)
        assert hits(said) == (0, COUNT) and len(warnings(said)) == 1
        assert "what the cache has of it is used" in said
        server.start()
        assert hits(other.compile(model, place)) == (COUNT, 0)


def test_an_empty_server_is_a_warning(tmp_path, user):
    model, _ = many(tmp_path, 2)
    with Nginx(tmp_path) as server:
        said = user.compile(model, server.url)
    assert hits(said) == (0, 2) and len(warnings(said)) == 1
    assert "has no index" in said


def test_very_many_winners_lie_in_shards_that_are_asked_for_once(tmp_path, user):
    count = 150
    model, bank = many(tmp_path, count)
    with Nginx(tmp_path) as server:
        User(tmp_path / "owner").bank("sync", bank, server.url)
        server.requests()
        said = user.compile(model, server.url + "#trusted")
        assert hits(said) == (count, 0)
        # The root, each of its sixteen shards, each winner.
        assert len(server.requests()) == 1 + 16 + count
        assert hits(user.compile(model, server.url + "#trusted")) == (count, 0)
        assert server.requests() == []
        # A bank of one target has no shard of another.
        said = user.compile(
            model, server.url + "#trusted", options=["--target=cuda:sm_90a"]
        )
        assert server.requests() == []


def test_list_show_and_verify_read_it(made, user):
    model, _, server = made
    assert user.bank("list", server.url).count("test machine") == 0
    assert user.bank("list", server.url).count("this machine") == COUNT
    assert f"{COUNT} of {COUNT} winners verified" in user.bank("verify", server.url)
    key = user.bank("list", server.url).splitlines()[1].split()[0]
    assert key in user.bank("show", f"--key={key}", server.url)


def test_a_server_must_prove_who_it_is(tmp_path, user):
    model, bank = many(tmp_path, 2)
    with Nginx(tmp_path, tls=True) as server:
        place = server.url + "#trusted"
        user.bank("sync", bank, place, expect=1)
        said = user.compile(model, place)
        assert hits(said) == (0, 2) and len(warnings(said)) == 1
        assert "certificate" in said
        user.environment["CURL_CA_BUNDLE"] = str(server.certificate)
        assert "2 stored" in user.bank("sync", bank, place)
        said = User(tmp_path / "other", user.environment).compile(model, place)
        assert hits(said) == (2, 0) and not warnings(said)


def test_a_server_of_http2_is_asked_by_one_connection(made, tmp_path, user):
    model, bank, _ = made
    with Nginx(tmp_path, tls=True, http2=True) as server, Far(server.port, 0) as far:
        user.environment["CURL_CA_BUNDLE"] = str(server.certificate)
        user.bank("sync", bank, server.url)
        place = server.url.replace(str(server.port), str(far.port)) + "#trusted"
        assert hits(user.compile(model, place)) == (COUNT, 0)
        assert far.connections == 1
        # Also where it is not known yet what the server speaks.
        shutil.rmtree(user.cache / "banks" / "winners")
        server.requests()
        assert hits(user.compile(model, place)) == (COUNT, 0)
        assert len(server.requests()) == COUNT and far.connections == 2


@pytest.mark.parametrize(
    "url, problem",
    [
        ("http://example.org/x", "add #insecure"),
        ("https://user:password@example.org/x", "environment variable"),
        ("https://example.org/x?signature=1", "ends in a query"),
        ("https://b.example.org/x?X-Amz-Signature=1", "one object and one method"),
        ("https://example.org/x#unknown", "unknown option 'unknown'"),
        ("https://example.org/x#token=a b", "names the environment variable"),
        ("https://example.org/x#max-age=-1", "not negative"),
        ("http://example.org/x#insecure,token=T", "in the clear"),
    ],
)
def test_a_wrong_url_is_an_error_that_says_what_is_right(user, tmp_path, url, problem):
    model, _ = many(tmp_path, 1)
    said = user.compile(model, url, expect=1)
    assert problem in said
    assert "password" not in said.replace("a user or a password", "")
    assert "signature=1" not in said


def test_a_search_stores_in_folders_alone(made, user):
    model, _, server = made
    said = user.compile(model, server.url, options=["--search"], expect=1)
    assert "name a folder with --bank=DIR" in said


def test_what_changes_or_believes_needs_a_folder_or_trust(made, user, tmp_path):
    _, _, server = made
    assert "only folders" in user.bank("prune", server.url, expect=1)
    assert "only folders" in user.bank("spread", server.url, expect=1)
    said = user.bank("merge", server.url, tmp_path, expect=1)
    assert "fastk-bank sync" in said
    said = user.bank("merge", "--by-record", tmp_path / "x", server.url, expect=1)
    assert "nobody judged them" in said
    said = user.bank("export", f"--to={tmp_path}/x", server.url, expect=1)
    assert "#trusted" in said


def test_the_default_banks_are_exported_only_if_they_are_trusted(made, tmp_path):
    _, _, server = made
    reader = User(tmp_path / "reader", {"FASTK_BANK": server.url})
    out = tmp_path / "out"
    said = reader.bank("export", f"--to={out}", expect=1)
    assert "nobody judged them here" in said and not out.exists()
    reader = User(tmp_path / "reader", {"FASTK_BANK": server.url + "#trusted"})
    reader.bank("export", "--target=host", f"--to={out}")
    assert len(list(out.rglob("lowering.mlir"))) == COUNT
