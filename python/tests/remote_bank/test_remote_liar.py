# ===- test_remote_liar.py - A bank's server that lies -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A server that truncates, delays, swaps, replays, redirects and sends bombs.

Whatever it does a compile ends with exit code 0, soon, with a warning, and applies
nothing that is not what its digest, seal and key say.
"""

import gzip
import json
import time

import pytest
from banks import User, hits, many, warnings
from servers import ROOT_PATH, Liar, Nginx, repacked

COUNT = 4


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A model, and the files of a bank with its winners."""
    folder = tmp_path_factory.mktemp("honest")
    model, bank = many(folder, COUNT)
    with Nginx(tmp_path_factory.mktemp("nginx")) as server:
        User(folder / "owner").bank("sync", bank, server.url)
        yield model, server.root / "bank"


@pytest.fixture
def user(tmp_path):
    return User(tmp_path / "home")


def compile_with(user, honest, lie, seconds=10):
    """A compile with a trusted bank whose server lies."""
    model, files = honest
    with Liar(files, lie) as server:
        start = time.monotonic()
        said = user.compile(model, server.url + "#trusted,max-age=0")
        assert time.monotonic() - start < seconds
    return said, server


def test_the_honest_one_is_believed(honest, user):
    said, _ = compile_with(user, honest, lambda *_: False)
    assert hits(said) == (COUNT, 0) and not warnings(said)


def of_winners(path):
    return path.startswith("/cas/")


def of_root(path):
    return path == ROOT_PATH


@pytest.mark.parametrize("which", [of_root, of_winners])
def test_what_is_cut_is_not_used(honest, user, which):
    def lie(handler, path, body):
        if not which(path):
            return False
        handler.answer(200, body[: len(body) // 2], length=len(body))
        handler.close_connection = True
        return True

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


@pytest.mark.parametrize("which", [of_root, of_winners])
def test_what_is_cut_without_a_trace_is_not_used(honest, user, which):
    def lie(handler, path, body):
        if which(path):
            handler.answer(200, body[: len(body) // 2])
        return which(path)

    model, files = honest
    with Liar(files, lie) as server:
        place = server.url + "#trusted,max-age=0"
        said = user.compile(model, place)
        assert hits(said) == (0, COUNT) and warnings(said)
        # Nothing of it stays.
        server.lie = lambda *_: False
        assert hits(user.compile(model, place)) == (COUNT, 0)


@pytest.mark.measures
@pytest.mark.parametrize("which", [of_root, of_winners])
def test_what_is_late_is_not_waited_for(honest, user, which):
    def lie(handler, path, body):
        if which(path):
            time.sleep(60)
        return False

    said, server = compile_with(user, honest, lie, seconds=30)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1
    assert "no answer within 2 s" in said


@pytest.mark.measures
def test_what_comes_in_drops_is_not_waited_for(honest, user):
    def lie(handler, path, body):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        # A minute.
        for byte in body[:100]:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.6)
        return True

    said, _ = compile_with(user, honest, lie, seconds=30)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


@pytest.mark.measures
def test_a_server_that_was_late_is_left_alone_for_a_while(honest, user):
    model, files = honest

    def lie(handler, path, body):
        time.sleep(60)
        return False

    with Liar(files, lie) as server:
        place = server.url + "#trusted"
        user.compile(model, place)
        times = []
        for _ in range(3):
            start = time.monotonic()
            said = user.compile(model, place)
            times.append(time.monotonic() - start)
            assert len(warnings(said)) == 1 and "a moment ago" in said
        # What a request is waited for is 2 s. Other programs may take as long, once.
        assert min(times) < 1.5
        assert len(server.asked) == 1


def test_winners_that_are_exchanged_are_not_used(honest, user):
    model, files = honest
    names = sorted(file.name for file in (files / "cas").iterdir())

    def lie(handler, path, body):
        if not of_winners(path):
            return False
        other = names[(names.index(path.removeprefix("/cas/")) + 1) % len(names)]
        handler.answer(200, (files / "cas" / other).read_bytes())
        return True

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT)
    assert "is not what its digest says" in said


def rooted(change):
    """A lie that changes the index."""

    def lie(handler, path, body):
        if of_root(path):
            handler.answer(200, json.dumps(change(json.loads(body))).encode())
        return of_root(path)

    return lie


def test_an_index_that_exchanges_winners_gives_no_wrong_one(honest, user):
    def change(root):
        winners = root["targets"]["host"]["winners"]
        objects = [winner["object"] for winner in winners]
        for winner, other in zip(winners, objects[1:] + objects[:1], strict=True):
            winner["object"] = other
        return root

    said, _ = compile_with(user, honest, rooted(change))
    assert hits(said) == (0, COUNT)


def test_names_that_a_terminal_would_obey_are_not_printed(honest, user):
    def change(root):
        root["targets"]["\x1b]52;c;eA==\x07\x9b31m"] = {}
        return root

    said, _ = compile_with(user, honest, rooted(change))
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1
    assert "\x1b" not in said and "\x9b" not in said


def test_a_winner_that_is_too_large_is_a_miss_alone(honest, user):
    large = []

    def lie(handler, path, body):
        if of_winners(path) and (not large or large[0] == path):
            large[:] = [path]
            handler.answer(200, body + b" " * (9 << 20))
            return True
        return False

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (COUNT - 1, 1) and len(warnings(said)) == 1


def test_a_winner_whose_pattern_was_changed_is_stale(honest, user):
    def change(files):
        files["lowering.mlir"] = files["lowering.mlir"].replace("arith.mulf", "arith.addf")

    said, _ = compile_with(user, honest, repacked(honest[1], change))
    assert hits(said) == (0, 0) and f"{COUNT} stale" in said


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", ".hidden", "a/b", ""])
def test_files_lie_in_the_winners_folder_alone(honest, user, name, tmp_path):
    def change(files):
        files[name] = "x"

    said, _ = compile_with(user, honest, repacked(honest[1], change))
    assert hits(said) == (0, COUNT)
    assert "name is not plain" in said
    assert not list(tmp_path.rglob("*escaped")) and not list(tmp_path.rglob(".hidden"))


def test_an_older_index_is_not_taken_for_a_newer_one(honest, user):
    def change(root):
        return root | {"generation": 7}

    def replay(root):
        root["targets"]["host"]["winners"] = []
        return root | {"generation": 3}

    # One that was made anew is another bank.
    def anew(root):
        return replay(root) | {"id": "another"}

    model, files = honest
    with Liar(files, rooted(change)) as server:
        place = server.url + "#trusted,max-age=0"
        assert hits(user.compile(model, place)) == (COUNT, 0)
        server.lie = rooted(replay)
        said = user.compile(model, place)
        assert hits(said) == (COUNT, 0) and len(warnings(said)) == 1
        assert "older index" in said
        server.lie = rooted(anew)
        said = user.compile(model, place)
        assert hits(said) == (0, COUNT) and not warnings(said)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://127.0.0.1:9/x", "gopher://x"])
def test_redirects_are_followed_nowhere(honest, user, status, to):
    def lie(handler, path, body):
        handler.answer(status, b"", [("Location", to)])
        return True

    said, server = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1
    assert "redirects to another place" in said and len(server.asked) == 1


def test_a_bomb_is_cut_off(honest, user):
    def lie(handler, path, body):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(10_000):
            handler.wfile.write(b" " * (1 << 20))
        return True

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


def test_a_compressed_bomb_stays_compressed(honest, user):
    bomb = gzip.compress(b" " * (64 << 20))

    def lie(handler, path, body):
        assert "Accept-Encoding" not in handler.headers
        handler.answer(200, bomb, [("Content-Encoding", "gzip")])
        return True

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Welcome</html>",
        b"[" * 1_000_000,
        b'{"fastk": "bank", "format": 2}',
        b'{"fastk": "bank", "format": 1, "id": "x", "targets": {"host": []}}',
        b'{"fastk": "bank", "format": 1, "id": "x", "targets": {"host": {"digits": 9}}}',
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_index_is_a_warning(honest, user, body):
    def lie(handler, path, _):
        handler.answer(200, body)
        return True

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


def test_a_server_may_end_the_connection_at_any_byte(honest, user):
    model, files = honest
    root = (files / ROOT_PATH.lstrip("/")).read_bytes()
    for at in range(0, len(root), max(1, len(root) // 7)):

        def lie(handler, path, body, at=at):
            handler.answer(200, body[:at], length=len(body))
            handler.close_connection = True
            return True

        said, _ = compile_with(user, honest, lie)
        assert hits(said) == (0, COUNT) and len(warnings(said)) == 1


def test_texts_of_the_server_are_not_printed(honest, user):
    def lie(handler, path, body):
        handler.send_response(500, "\x1b[31mred")
        handler.end_headers()
        handler.wfile.write(b"\x1b]0;title\x07")
        handler.close_connection = True
        return True

    said, _ = compile_with(user, honest, lie)
    assert "\x1b" not in said and "status 500" in said


def test_a_damaged_winner_costs_only_itself(honest, user):
    _, files = honest
    victim = sorted(file.name for file in (files / "cas").iterdir())[0]

    def lie(handler, path, body):
        if path == "/cas/" + victim:
            handler.answer(200, body + b" ")
        return path == "/cas/" + victim

    said, _ = compile_with(user, honest, lie)
    assert hits(said) == (COUNT - 1, 1) and len(warnings(said)) == 1


def test_a_cache_that_cannot_be_written_is_a_warning(honest, user):
    model, files = honest
    user.home.mkdir()
    user.cache.write_text("no folder")
    with Liar(files) as server:
        said = user.compile(model, server.url + "#trusted")
    assert hits(said) == (0, COUNT) and warnings(said)
