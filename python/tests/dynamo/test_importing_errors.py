# ===- test_importing_errors.py - Imports that fail -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Whatever becomes of the process that imports, the next import works again."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from worlds import capture, graphs_of, script

from fastk.dynamo import graphs, importing
from fastk.dynamo.errors import Failed, Unsupported
from fastk.dynamo.importing import Importer, Imports
from fastk.dynamo.store import Store

ANSWER = """echo '{"text": "of the second"}'"""


@pytest.fixture
def data():
    return graphs.to_data(*capture(lambda x: x + 1, torch.ones(3)))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """An importer whose process is a shell script: the first one, and those after."""

    def make(first, then=f"while read path; do {ANSWER}; done", **options):
        mark = tmp_path / "started"
        text = f"if [ -e {mark} ]; then\n{then}\nelse\ntouch {mark}\n{first}\nfi"
        monkeypatch.setattr(sys, "executable", str(script(tmp_path, "python", text)))
        importer = Importer(**options)
        importer.mark = mark
        return importer

    yield make
    monkeypatch.undo()


@pytest.mark.parametrize(
    "first, said",
    [
        ("exit 3", "it said nothing"),
        ("read path; exit 3", "it said nothing"),
        ("read path; echo Segmentation fault >&2; kill -SEGV $$", "Segmentation fault"),
        ("""read path; printf '{"text": "half of'""", "it said nothing"),
        ("read path; echo no JSON; cat", "it said nothing"),
    ],
    ids=["at once", "asked", "crash", "half an answer", "another answer"],
)
def test_the_process_ends(server, data, first, said):
    importer = server(first)
    with pytest.raises(Failed) as error:
        importer.text_of(data)
    assert str(error.value) == f"the importing process ended: {said}"
    assert importer.process is None
    assert importer.text_of(data) == "of the second"
    importer.stop()


def test_a_process_that_ended_unasked_is_stopped(server):
    importer = server("exit 3")
    importer._start()
    importer.process.wait()
    importer.process.stdin.write(b"not sent\n")
    importer.stop()
    assert importer.process is None


def test_it_is_killed_while_it_works(server, data):
    importer = server("read path; touch $0.busy; exec sleep 1000")

    def kill():
        while not os.path.exists(sys.executable + ".busy"):
            time.sleep(0.01)
        os.kill(importer.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(Failed, match="the importing process ended"):
        importer.text_of(data)
    killer.join()
    assert importer.text_of(data) == "of the second"
    importer.stop()


def test_it_hangs(server, data):
    importer = server("read path; exec sleep 1000", timeout=0.3)
    importer._start()
    process = importer.process
    with pytest.raises(Failed, match="an import takes longer than 0.3 s"):
        importer.text_of(data)
    assert process.returncode == -signal.SIGKILL
    importer.timeout = 30
    assert importer.text_of(data) == "of the second"
    importer.stop()


def test_it_was_killed_between_two_imports(server, data):
    importer = server("while read path; do echo '{\"text\": \"first\"}'; done")
    assert importer.text_of(data) == "first"
    importer.process.kill()
    importer.process.wait()
    assert importer.text_of(data) == "of the second"
    importer.stop()


def test_a_failure_is_not_remembered_and_a_refusal_is(server, data, tmp_path):
    answers = """
read path; echo '{"failed": "OSError: no space"}'
read path; echo '{"error": "no op"}'
"""
    importer = server(answers)
    imports = Imports(Store(tmp_path / "store"), importer)
    graph = capture(lambda x: x + 1, torch.ones(3))
    with pytest.raises(Failed, match="an import failed: OSError: no space"):
        imports.text_of(*graph)
    assert not list(graphs_of(imports.store))
    for _ in range(2):
        with pytest.raises(Unsupported, match="it cannot be imported: no op"):
            imports.text_of(*graph)
    importer.stop()


def test_the_folder_of_the_user_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    monkeypatch.chdir(tmp_path)
    importer = Importer()
    importer._start()
    # It reads, so it has started.
    importer.process.stdin.close()
    assert importer.process.wait(timeout=60) == 0
    importer.process = None


def processes_of(session):
    found = subprocess.run(
        ["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True
    )
    return found.stdout.split()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_it(tmp_path, how):
    """Ctrl-C, and the end of the user's process."""
    server = script(tmp_path, "python", "read path; touch $0.busy; read more")
    # A shell's background jobs, such as these tests may be, ignore Ctrl-C.
    text = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.executable = {str(server)!r}
from fastk.dynamo import importing
importer = importing.Importer()
try:
    importer._start()
    print(importer.process.pid, flush=True)
    importer.text_of(b"")
except KeyboardInterrupt:
    print("interrupted", importer.process, flush=True)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    user = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment
    )
    pid = int(user.stdout.readline())
    while not os.path.exists(f"{server}.busy"):
        time.sleep(0.01)
    assert processes_of(pid)
    user.send_signal(how)
    rest = user.stdout.read()
    user.wait(timeout=60)
    if how == signal.SIGINT:
        assert rest == "interrupted None\n"
    end = time.monotonic() + 60
    while processes_of(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not processes_of(pid)


def test_versions(monkeypatch):
    one = importing.version()
    importing.version.cache_clear()
    assert importing.version() == one
    importing.version.cache_clear()
    monkeypatch.setattr(importing.importlib.metadata, "version", lambda name: "another")
    assert importing.version() != one
    importing.version.cache_clear()
