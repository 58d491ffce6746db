# ===- test_store.py - What is known of graphs, on disk -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A file of the store is there whole or not at all, and is never an error."""

import errno
import os
import threading

import pytest

from fastk.dynamo.errors import Failed
from fastk.dynamo.store import Store, default_folder


def files_of(store):
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(store.folder)
        for name in names
    )


def test_what_was_written_is_read(tmp_path):
    store = Store(tmp_path)
    store.write("a/b.json", {"one": 1, "two": "ü"})
    assert store.read("a/b.json", ("one", "two")) == {"one": 1, "two": "ü"}
    assert files_of(store) == [store.path("a/b.json")]
    store.write("a/b.json", {"one": 2, "two": "v"})
    assert Store(tmp_path).read("a/b.json", ["one", "two"])["one"] == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b'{"one": 1}', b'{"one": 1, "two": 2, "three": 3}',
     b"\xff\xfe", b"[" * 100000],
    ids=range(8),
)  # fmt: skip
def test_what_is_unreadable_counts_as_none(tmp_path, content):
    store = Store(tmp_path)
    assert store.write_bytes("a.json", content)
    assert store.read("a.json", ("one", "two")) is None


def test_no_file_and_a_folder_count_as_none(tmp_path):
    store = Store(tmp_path)
    assert store.read("a.json", ("one",)) is None
    os.makedirs(store.path("a.json"))
    assert store.read("a.json", ("one",)) is None
    assert not store.write_bytes("a.json", b"")


def no_space(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", ["os.replace", "os.makedirs", "tempfile.mkstemp"])
def test_a_full_disk(tmp_path, monkeypatch, name):
    store = Store(tmp_path)
    store.write("a.json", {"one": 1})
    monkeypatch.setattr(f"fastk.dynamo.store.{name}", no_space)
    store.write("a.json", {"one": 2})
    assert not store.write_bytes("b", b"data")
    with pytest.raises(Failed, match="c cannot be written: make room, or let FASTK_TORCH"):
        store.keep("c", b"data")
    monkeypatch.undo()
    assert store.read("a.json", ("one",)) == {"one": 1}
    assert files_of(store) == [store.path("a.json")]


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    store = Store(tmp_path)
    monkeypatch.setattr("fastk.dynamo.store.os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write_bytes("a", b"data")
    assert not files_of(store)


def test_what_is_kept_is_what_was_given(tmp_path):
    store = Store(tmp_path)
    path = store.keep("programs/a.so", b"machine code")
    before = os.stat(path)
    assert store.keep("programs/a.so", b"machine code") == path
    assert os.stat(path).st_ino == before.st_ino
    # As a crash may leave it.
    with open(path, "wb") as file:
        file.write(b"machine")
    assert store.keep("programs/a.so", b"machine code") == path
    with open(path, "rb") as file:
        assert file.read() == b"machine code"


def test_many_writers(tmp_path):
    values = [{"writer": n, "text": str(n) * 100000} for n in range(8)]
    seen = []

    def write(value):
        for _ in range(10):
            Store(tmp_path).write("a.json", value)
            seen.append(Store(tmp_path).read("a.json", ("writer", "text")))

    threads = [threading.Thread(target=write, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80 and all(value in values for value in seen)
    assert len(files_of(Store(tmp_path))) == 1


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTK_TORCH_CACHE", "named")
    monkeypatch.chdir(tmp_path)
    assert Store().folder == str(tmp_path / "named" / "v1")
    monkeypatch.delenv("FASTK_TORCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_folder() == "/x/fastk/torch"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert default_folder() == "/home/user/.cache/fastk/torch"
