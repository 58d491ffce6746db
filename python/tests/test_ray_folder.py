# ===- test_ray_folder.py - A spool, as a cluster's driver sees it -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------------===#
"""Claims, verdicts and full disks in the spool of `python -m fastk.ray`; needs no Ray."""

import contextlib
import json
import multiprocessing
import os
import resource

import pytest

from fastk.ray.answers import Answers
from fastk.ray.folder import Spool, failed_verdict

NAME = "job-00112233445566778899aabbccddeeff"


@pytest.fixture
def spool(tmp_path):
    add(tmp_path, NAME)
    made = Spool(tmp_path)
    made.look()
    return made


def add(folder, name, **fields):
    (folder / name).mkdir()
    programs = {
        role: {"path": f"{role}.so"} for role in ("oracle", "baseline", "candidate")
    }
    for role in programs:
        (folder / name / f"{role}.so").write_bytes(role.encode())
    job = {"format": 1, "id": name, "mode": "evaluate", "programs": programs}
    (folder / name / "job.json").write_text(json.dumps(job | fields))


def names_in(spool):
    return sorted(os.listdir(os.path.join(spool.path, NAME)))


JOB = ["baseline.so", "candidate.so", "job.json", "oracle.so"]


def test_a_job_is_what_a_worker_needs(spool):
    assert spool.claim(NAME)
    assert sorted(spool.jobs[NAME].files()) == JOB
    assert spool.jobs[NAME].files()["oracle.so"] == b"oracle"


def test_of_the_job_that_follows_a_worker_gets_what_it_compiles(spool):
    assert sorted(spool.jobs[NAME].files_to_compile()) == ["candidate.so", "job.json"]


def test_rates_of_gpus_are_those_of_the_folder(spool, tmp_path):
    spool.note_canaries({"H200/node1-gpu-0.json": b"1", "../elsewhere.json": b"2"})
    assert os.listdir(tmp_path / ".canaries" / "H200") == ["node1-gpu-0.json"]
    assert not (tmp_path / "elsewhere.json").exists()
    (tmp_path / ".canaries" / "H200" / "shares-it.json").write_text("3")
    later = Spool(tmp_path)
    later.look()
    assert later.canaries == {
        "H200/node1-gpu-0.json": b"1",
        "H200/shares-it.json": b"3",
    }
    assert list(later.jobs) == [NAME]


def test_jobs_of_one_workload_are_known(spool, tmp_path):
    other = NAME.replace("0", "1")
    add(tmp_path, other, mode="promote", floor_ns=3.5)
    another = NAME.replace("0", "2")
    add(tmp_path, another)
    (tmp_path / another / "oracle.so").write_bytes(b"of another workload")
    spool.look()
    workload = spool.jobs[NAME].workload
    assert spool.jobs[other].workload == workload != spool.jobs[another].workload


def test_a_claim_keeps_others_out(spool, tmp_path):
    assert spool.claim(NAME)
    assert names_in(spool) == ["baseline.so", "candidate.so", "claim-1", *JOB[2:]]
    assert not Spool(tmp_path).claim(NAME)
    spool.give_back(NAME)
    assert names_in(spool) == JOB
    # A fastk-worker's, whoever that is.
    (tmp_path / NAME / "claim-1").write_text('{"format": 1, "host": "node7", "pid": 1}')
    assert not spool.claim(NAME)
    spool.give_back(NAME)
    spool.free_claims()
    assert "claim-1" in names_in(spool)


def test_deaths_are_counted_whoever_comes_next(spool, tmp_path):
    for deaths in (1, 2):
        assert spool.claim(NAME)
        assert spool.note_death(NAME, "killed") == deaths
    # The driver is killed with a job under way: that is no fault of the job.
    assert spool.claim(NAME)
    later = Spool(tmp_path)
    later.look()
    later.free_claims()
    assert later.claim(NAME)
    assert later.note_death(NAME, "killed") == 3
    later.answer(NAME, failed_verdict(NAME, "3 workers ended at it"))
    assert names_in(later) == [*JOB, "verdict.json"]


def test_a_claim_that_a_kill_cut_off_is_free(spool, tmp_path):
    (tmp_path / NAME / "claim-1").write_text('{"format": 1, "ho')
    spool.free_claims()
    assert names_in(spool) == JOB


def test_the_first_answer_stays(spool, tmp_path):
    assert spool.claim(NAME)
    spool.answer(NAME, failed_verdict(NAME, "the first"))
    spool.answer(NAME, failed_verdict(NAME, "the second"))
    assert names_in(spool) == [*JOB, "verdict.json"]
    verdict = json.loads((tmp_path / NAME / "verdict.json").read_text())
    assert verdict["reason"] == "the first"
    spool.look()
    assert spool.jobs == {}


@pytest.mark.parametrize(
    "verdict",
    [
        b"",
        b"[]",
        failed_verdict(NAME, "cut off")[:-9],
        failed_verdict("job-1", "of another"),
    ],
)
def test_what_is_no_verdict_on_the_job_is_not_written(spool, verdict):
    with pytest.raises(ValueError):
        spool.answer(NAME, verdict)
    assert names_in(spool) == JOB


@contextlib.contextmanager
def full_disk(room):
    """Files may not grow beyond so many bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _full(path):
    spool = Spool(path)
    spool.look()
    with full_disk(16):
        with pytest.raises(OSError):
            spool.claim(NAME)
        with pytest.raises(OSError):
            spool.answer(NAME, failed_verdict(NAME, "too long"))
    assert names_in(spool) == JOB
    assert spool.claim(NAME)
    with full_disk(16), pytest.raises(OSError):
        spool.note_death(NAME, "killed")
    # The claim is whole.
    assert names_in(spool) == [*JOB[:2], "claim-1", *JOB[2:]]


def in_child(function, *arguments):
    # pytest itself writes, too.
    child = multiprocessing.get_context("fork").Process(
        target=function, args=arguments
    )
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_full_disk_leaves_nothing_half_written(spool, tmp_path):
    in_child(_full, tmp_path)


def answers_of(spool, told):
    return Answers(spool, told.append, told.append)


def _deaths_at_a_full_disk(path):
    spool, told = Spool(path), []
    spool.look()
    answers = answers_of(spool, told)
    for deaths in (1, 2, 3):
        assert spool.claim(NAME)
        with full_disk(16):
            answers.died(NAME, "killed")
            # Nobody else gets it while its claim is this driver's.
            assert answers.kept() == {NAME} and not spool.claim(NAME)
            answers.write_again()
        assert "kept, and written when there is room" in told[-1]
        answers.write_again()
        assert answers.kept() == set()
        assert answers.counts["lost"] == deaths
    assert json.loads((path / NAME / "verdict.json").read_text())["status"] == "error"
    assert answers.counts["set aside"] == 1
    assert names_in(spool) == [*JOB, "verdict.json"]


def test_a_death_that_a_full_disk_does_not_take_is_counted_later(spool, tmp_path):
    in_child(_deaths_at_a_full_disk, tmp_path)


def _ends_at_a_full_disk(path):
    spool = Spool(path)
    spool.look()
    answers = answers_of(spool, [])
    assert spool.claim(NAME)
    with full_disk(16):
        answers.died(NAME, "killed")
        answers.end()
    # For whoever comes next.
    assert names_in(spool) == JOB


def test_a_driver_that_ends_at_a_full_disk_keeps_no_job(spool, tmp_path):
    in_child(_ends_at_a_full_disk, tmp_path)


def test_a_death_at_a_job_that_is_gone_or_answered_changes_nothing(spool, tmp_path):
    answers = answers_of(spool, [])
    spool.answer(NAME, failed_verdict(NAME, "by another"))
    answers.died(NAME, "killed")
    assert names_in(spool) == [*JOB, "verdict.json"]
    answers.died("job-gone", "killed")
    assert answers.kept() == set()


def test_a_job_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "job.json").write_text("{")
    spool = Spool(tmp_path)
    spool.look()
    assert spool.jobs == {} and NAME in spool.unreadable


def test_a_job_that_is_written_again_is_seen_again(spool, tmp_path):
    for path in (tmp_path / NAME).iterdir():
        path.unlink()
    (tmp_path / NAME).rmdir()
    spool.look()
    assert spool.jobs == {}
    add(tmp_path, NAME)
    spool.look()
    assert NAME in spool.jobs
