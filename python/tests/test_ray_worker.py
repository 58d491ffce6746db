# ===- test_ray_worker.py - The actor of a cluster's node -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------===#
"""What an actor of `python -m fastk.ray` does on its node: the lock of its GPU, a worker that
says strange things, a folder that is gone. Only the last test needs Ray, and no cluster."""

import fcntl
import multiprocessing
import os
import pathlib
import shutil
import stat
import tempfile

import pytest

from fastk.ray import worker

NAME = "job-00112233445566778899aabbccddeeff"
NOBODY = 65534


@pytest.fixture
def shared(monkeypatch):
    """A folder as /tmp is, for all users."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o1777)
    monkeypatch.setattr(tempfile, "tempdir", folder)
    monkeypatch.setattr(worker, "GPU_PATIENCE", 0.2)
    yield folder
    shutil.rmtree(folder)


def _hold(gpu, told):
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        os.close(worker.hold_gpu(gpu))
        told.send("held")
    except (OSError, RuntimeError) as error:
        told.send(str(error))


def held_by_another_user(gpu):
    """Locks as one who does not own what was made here: "held", or what went wrong."""
    receive, send = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_hold, args=(gpu, send))
    child.start()
    child.join()
    assert receive.poll()
    return receive.recv()


def test_the_lock_of_a_gpu_is_for_all_users(shared):
    before = os.umask(0o077)
    try:
        held = worker.hold_gpu("0")
    finally:
        os.umask(before)
    path = os.path.join(shared, "fastk-gpu-0.lock")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666
    with pytest.raises(RuntimeError, match=f"process {os.getpid()} of "):
        worker.hold_gpu("0")
    other = held_by_another_user("0")
    assert f"another worker of fastk has it, process {os.getpid()} of " in other
    os.close(held)
    assert held_by_another_user("0") == "held"


def test_a_lock_that_another_user_made_is_taken(shared):
    """Also one that nobody else may write, as earlier ones were."""
    path = os.path.join(shared, "fastk-gpu-0.lock")
    open(path, "x").close()
    os.chmod(path, 0o444)
    assert held_by_another_user("0") == "held"
    # With fs.protected_regular not even root may open it there to create it.
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    os.close(worker.hold_gpu("0"))


def test_a_lock_that_may_not_be_read_says_whose_it_is(shared):
    if os.geteuid() != 0:
        pytest.skip("needs two users")
    path = os.path.join(shared, "fastk-gpu-0.lock")
    open(path, "x").close()
    os.chmod(path, 0o600)
    said = held_by_another_user("0")
    assert "fastk-gpu-0.lock is a file of root that only they may read" in said


def test_the_lock_is_that_of_the_file(shared):
    with open(os.path.join(shared, "fastk-gpu-1.lock"), "x") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match="another worker of fastk has it"):
            worker.hold_gpu("1")
        os.close(worker.hold_gpu("2"))


@pytest.fixture
def actor(tmp_path, monkeypatch):
    """One whose fastk-worker answers each job with what the file `says` has."""
    program = tmp_path / "fastk-worker"
    program.write_text(
        f"#!/bin/sh\nwhile read job; do cat {tmp_path}/says; done\n", encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setattr(worker, "visible_gpus", list)
    made = worker.Worker(str(program), None)
    yield made
    if made.process:
        made.end()
    shutil.rmtree(made.folder, ignore_errors=True)


def test_what_is_no_text_is_an_answer(actor, tmp_path):
    (tmp_path / "says").write_bytes(b"left: is for \xff\xfe\n")
    assert actor.answer(NAME, {}) == ("left", "is for \ufffd\ufffd", {})
    # The job's folder is gone, the actor goes on.
    assert os.listdir(actor.folder) == []


def test_an_actor_without_its_folder_does_not_go_on(actor, tmp_path):
    (tmp_path / "says").write_bytes(b"left: whatever\n")
    assert actor.answer(NAME, {})[0] == "left"
    shutil.rmtree(actor.folder)
    with pytest.raises(FileNotFoundError):
        actor.answer(NAME, {})


def test_a_verdict_that_is_not_there_is_no_busy_gpu(actor, tmp_path):
    (tmp_path / "says").write_bytes(b"answered\n")
    with pytest.raises(FileNotFoundError):
        actor.answer(NAME, {})


#: Says which job follows, what is there of it, and whose rates are; writes its own.
LOOKS = """
cd $2
mkdir -p .canaries/H200
while read job next; do
  said="$next: $(test "$next" && ls $next) $(ls .canaries/H200)"
  echo $job > .canaries/H200/mine.json
  echo left: $said
done
"""


def test_the_candidate_that_follows_is_there_before_its_turn(actor):
    pathlib.Path(actor.program).write_text(f"#!/bin/sh\n{LOOKS}")
    others = ["job-1", "job-2", "job-3"]
    files = {"job.json": b"{}", "candidate.cu": b""}
    word, said, _ = actor.answer(others[0], files, (others[1], files))
    assert (word, said) == ("left", "job-2: candidate.cu job.json")
    assert os.listdir(os.path.join(actor.folder, others[1]))
    # It is the next, or another one is: then nothing of it stays.
    assert actor.answer(others[1], files | {"oracle.so": b""}, (others[2], files))[0]
    actor.answer(NAME, files)
    assert os.listdir(actor.folder) == [".canaries"]


def test_an_older_worker_takes_one_name_a_line(actor):
    """And says of two that there is no such job; it is asked for one from then on."""
    asked = pathlib.Path(actor.folder).parent / f"{os.getpid()}.asked"
    pathlib.Path(actor.program).write_text(
        f'#!/bin/sh\nwhile read -r line; do echo "$line" >> {asked}\n'
        'case $line in *\' \'*) echo "left: no such folder";;\n'
        f'*) echo v > {actor.folder}/$line/verdict.json; echo answered;; esac; done\n'
    )
    files = {"job.json": b"{}", "candidate.cu": b""}
    for job, other in (("job-1", "job-2"), ("job-2", "job-3")):
        assert actor.answer(job, files, (other, files))[:2] == ("answered", b"v\n")
    assert asked.read_text().splitlines() == ["job-1 job-2", "job-1", "job-2"]
    asked.unlink()


def test_rates_of_gpus_are_told_to_others(actor):
    pathlib.Path(actor.program).write_text(f"#!/bin/sh\n{LOOKS}")
    others = {"H200/other.json": b"9\n", "../outside.json": b"", "H200/a/b.json": b""}
    assert actor.answer("job-1", {}, None, others)[1:] == (
        ": other.json",
        {"H200/mine.json": b"job-1\n"},
    )
    # What is known is not told again.
    assert actor.answer("job-2", {})[1:] == (
        ": mine.json other.json",
        {"H200/mine.json": b"job-2\n"},
    )
    assert not os.path.exists(os.path.join(actor.folder, "outside.json"))


def test_what_an_actor_raises_counts_as_its_end():
    exceptions = pytest.importorskip("ray.exceptions")
    from fastk.ray import mover

    error = exceptions.RayTaskError("answer", "Traceback\nValueError: bad", None)
    assert mover.is_fault_of_job(error)
    assert mover.why_ended(error) == "ValueError: bad"
    assert not mover.is_fault_of_job(exceptions.ActorUnavailableError("away", None))
