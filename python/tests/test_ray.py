# ===- test_ray.py - Evaluations on a Ray cluster -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------===#
"""A real Ray cluster of this machine, with GPUs that are numbers only, whose workers give
recorded verdicts: actors, workers, drivers, nodes and searches are killed. What is found is what
the same search finds with `--evaluator=local` on made-up GPUs, whose workers give the same ones."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from compiled import BIN
from conftest import PYTHON, ROOT, tool
from ports import free_port
from ray.cluster_utils import Cluster

sys.path.insert(0, str(ROOT / "test" / "Driver" / "Inputs"))
import rehearsals  # noqa: E402
import relu_variants  # noqa: E402
from kills import events  # noqa: E402

MODEL = ROOT / "test" / "Driver" / "Inputs" / "relu.mlir"
#: What a recorded evaluation takes, in seconds.
SECONDS = (0.3, 0.9)
#: The longest that anything may take here.
PATIENCE = 150


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory):
    """What a cluster's nodes, drivers and searches find."""
    with pytest.MonkeyPatch.context() as patch:
        # Ray keeps the cluster's token there.
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("FASTK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", str(PYTHON))
        patch.setenv("REAL_FASTK_WORKER", str(BIN / "fastk-worker"))
        patch.setenv("FASTK_WORKER", str(PYTHON / "tests" / "logged_worker.py"))
        patch.setenv("RAY_DISABLE_IMPORT_WARNING", "1")
        # pytest's own folders are too deep: the path of a socket has at most 107 bytes.
        with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as short:
            patch.setenv("RAY_TMPDIR", short)
            yield


@pytest.fixture(scope="module")
def recorded(environment, tmp_path_factory):
    """A search that is answered without a kill: SCRATCH/recorded."""
    scratch = tmp_path_factory.mktemp("ray")
    random.seed(7)
    relu_variants.make_variants(scratch / "variants")
    (scratch / "recorded").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTK_CACHE_DIR", str(scratch / "recorded" / "cache"))
        rehearsals.record(str(BIN / "fastk-opt"), str(MODEL), str(scratch), SECONDS)
    return scratch


def make_gpus(folder, count):
    """A driver of so many made-up GPUs. Returns its folder, FOLDER."""
    subprocess.run(
        [tool("clang"), "-shared", "-fPIC", f"-DGPUS={count}", "-I", ROOT / "include",
         PYTHON / "tests" / "made_up_gpus.c", "-o", folder / "libcuda.so.1"], check=True)  # fmt: skip
    return folder


def search_locally(recorded, gpus):
    """The same search by --evaluator=local, on so many GPUs that a made-up driver has: one is
    asked job by job, several have a spool. Returns its folder."""
    folder = recorded / f"local-{gpus}"
    tools = folder / "bin"
    tools.mkdir(parents=True)
    shutil.copy(BIN / "fastk-opt", tools)
    shutil.copy(PYTHON / "tests" / "recorded_worker.py", tools / "fastk-worker")
    result = subprocess.run(
        rehearsals.search_command(
            str(tools / "fastk-opt"), str(MODEL), str(recorded), folder.name, "local"
        ),
        env=os.environ
        | {
            "FASTK_CACHE_DIR": str(folder / "cache"),
            "LD_LIBRARY_PATH": str(make_gpus(tools, gpus)),
            "RECORDED": str(recorded / "recorded" / "spool"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def local(recorded):
    return [search_locally(recorded, gpus) for gpus in (1, 4)]


def winner_of(folder):
    """{file: content} of the winner of the bank, but for what tells of times of day."""
    files = (folder / "bank").glob("*/*/*")
    return {
        path.name: path.read_bytes()
        for path in files
        if path.name != "trajectory.json"
    }


def measured_in(folder):
    """[(name, verdict)] of the evaluations that the journal has. Jobs have other names where
    there is no spool."""
    (journal,) = (folder / "journal").glob("*/journal.jsonl")
    lines = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    found = [
        (event["name"], event["verdict"] | {"id": ""})
        for event in lines
        if event["type"] == "evaluation"
    ]
    return sorted(found, key=str)


class Nodes:
    """A cluster of two nodes with two GPUs each, which have different names."""

    def __init__(self):
        common = {"num_cpus": 1, "num_gpus": 2, "object_store_memory": 100 << 20}
        self.arguments = [
            common | {"env_vars": {"CUDA_VISIBLE_DEVICES": gpus}}
            for gpus in ("0,1", "2,3")
        ]
        self.cluster = Cluster(initialize_head=True, head_node_args=self.arguments[0])
        self.address = self.cluster.address
        self.second = None
        self.add()

    def add(self):
        self.second = self.cluster.add_node(**self.arguments[1])

    def remove(self):
        self.cluster.remove_node(self.second, allow_graceful=False)

    def end(self):
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def nodes(environment):
    made = Nodes()
    yield made
    made.end()


def spool_of(recorded, folder):
    """The jobs of the recorded search, none of them answered, and what is rehearsed, a
    folder that tests may change: FOLDER/spool, FOLDER/rehearsed."""
    shutil.copytree(recorded / "recorded" / "spool", folder / "rehearsed")
    shutil.copytree(recorded / "recorded" / "spool", folder / "spool")
    for verdict in (folder / "spool").glob("*/verdict.json"):
        verdict.unlink()
    return folder / "spool"


def logged(folder, word):
    """[(job, time, process)] of what workers wrote beside FOLDER/rehearsed."""
    path = folder / "log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [
        (job, float(when), int(process))
        for kind, job, when, process in map(str.split, lines)
        if kind == word
    ]


def answered(spool):
    return list(pathlib.Path(spool).glob("*/verdict.json"))


def commands():
    """{process: its command line} of this machine."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().decode()
        except OSError:
            pass
    return found


def parent_of(process):
    stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def gpu_of(process):
    """The GPU that a worker sees, or None where it has ended."""
    try:
        environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().decode()
    except OSError:
        return None
    return dict(
        entry.split("=", 1) for entry in environment.split("\0") if "=" in entry
    ).get("CUDA_VISIBLE_DEVICES")


def wait_for(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.05)
    return found


def mover(nodes, spool, *options, **others):
    """python -m fastk.ray for a spool, whose stderr is SPOOL.said."""
    command = [sys.executable, "-m", "fastk.ray", nodes.address, str(spool), *options]
    with open(f"{spool}.said", "a", encoding="utf-8") as said:
        return subprocess.Popen(command, stderr=said, **others)


def said(spool):
    return pathlib.Path(f"{spool}.said").read_text()


def left_behind(spool):
    """Claims, and parts of files."""
    return [
        path.name
        for path in pathlib.Path(spool).glob("job-*/*")
        if path.name.startswith((".", "claim-"))
    ]


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


class Killer:
    """Kills what has to do with one search, when a job runs."""

    def __init__(self, nodes, folder, spool, command):
        self.nodes, self.folder, self.spool = nodes, folder, spool
        self.command = command
        self.start()

    def start(self):
        with open(self.folder / "said", "a", encoding="utf-8") as log:
            self.running = subprocess.Popen(self.command, stderr=log)

    def search(self):
        self.running.kill()
        self.running.wait()
        self.start()

    def at_work(self):
        """Worker processes that are at a job."""
        last = {process: job for job, _, process in logged(self.folder, "begin")}
        return [
            process
            for process, job in last.items()
            if "logged_worker" in commands().get(process, "")
            and not (self.spool / job / "verdict.json").exists()
        ]

    def worker(self):
        os.kill(random.choice(wait_for(self.at_work)), signal.SIGKILL)

    def actor(self):
        os.kill(parent_of(random.choice(wait_for(self.at_work))), signal.SIGKILL)

    def driver(self):
        for process, command in commands().items():
            if "--driver" in command and str(self.spool) in command:
                os.kill(process, signal.SIGKILL)

    def node(self):
        wait_for(lambda: {"2", "3"} & set(map(gpu_of, self.at_work())))
        self.nodes.remove()
        self.nodes.add()

    def kill(self, what):
        """Kills it when something is under way, after an answer since the last kill. None
        comes meanwhile, so that some are left for the next."""
        before = len(answered(self.spool))
        wait_for(lambda: len(answered(self.spool)) > before)
        (self.folder / "hold").touch()
        wait_for(self.at_work)
        getattr(self, what)()
        (self.folder / "hold").unlink()


def test_a_search_whose_cluster_is_killed_finds_the_same(
    nodes, recorded, local, tmp_path, monkeypatch
):
    random.seed(11)
    monkeypatch.setenv("FASTK_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(recorded / "recorded" / "spool", tmp_path / "rehearsed")
    (tmp_path / "variants").symlink_to(recorded / "variants")
    command = rehearsals.search_command(
        str(BIN / "fastk-opt"),
        str(MODEL),
        str(tmp_path),
        "killed",
        f"ray:{nodes.address}?workers=4&wait=120&rehearse={tmp_path}/rehearsed",
    )
    journal = tmp_path / "killed" / "journal"
    spool = journal / "ray"
    (tmp_path / "killed").mkdir()

    killer = Killer(nodes, tmp_path, spool, command)
    # Two of them are a job's fault for all that the driver knows: three would set it aside.
    kills = ["worker", "actor", "driver", "search"]
    random.shuffle(kills)
    # The node first, while there are jobs for all GPUs.
    for what in ["node", *kills]:
        killer.kill(what)
        # A driver that is killed before it has seen that would not say it.
        if what == "node":
            wait_for(lambda: "is gone;" in (tmp_path / "said").read_text())
    search = killer.running
    assert search.wait(PATIENCE) == 0, (tmp_path / "said").read_text()

    assert relu_variants.problem_of(spool, events(journal)) is None
    verdicts = rehearsals.verdicts_of(spool)
    assert rehearsals.says(
        verdicts, rehearsals.verdicts_of(recorded / "recorded" / "spool")
    )
    for folder in local:
        assert winner_of(tmp_path / "killed") == winner_of(folder)
        assert measured_in(tmp_path / "killed") == measured_in(folder)
    assert "kernel.cu" in winner_of(local[0])
    # Where it has several GPUs a local search writes the same jobs.
    (jobs,) = (local[-1] / "journal" / "jobs").iterdir()
    assert verdicts == rehearsals.verdicts_of(jobs)
    assert left_behind(spool) == []
    # No job was tried again that was answered, and no GPU had two at once.
    answers = {path.parent.name: path.stat().st_mtime for path in answered(spool)}
    begun = logged(tmp_path, "begin")
    assert len(begun) > len(answers)
    assert [job for job, when, _ in begun if when > answers[job]] == []
    assert logged(tmp_path, "overlap") == []
    text = (tmp_path / "said").read_text()
    for words in (
        "the driver ended by signal 9; starts again",
        "is gone;",
        "is tried again",
    ):
        assert words in text


def test_the_spare_of_an_actor_that_is_killed_takes_its_place(
    nodes, recorded, tmp_path
):
    spool = spool_of(recorded, tmp_path)

    def actors():
        """Processes of actors, which Ray names by the job that they are at."""
        return {
            process
            for process, command in commands().items()
            if command.startswith(("ray::Worker", "ray::fastk"))
        }

    # What an earlier test has left, and may still be ending.
    others = actors()
    process = mover(nodes, spool, "--workers=1", f"--rehearse={tmp_path / 'rehearsed'}")
    wait_for(lambda: answered(spool))
    # Jobs are left for the spare, however long it takes to begin.
    (tmp_path / "hold").touch()
    (worker,) = {number for _, _, number in logged(tmp_path, "begin")}
    actor = parent_of(worker)
    spares = wait_for(lambda: actors() - others - {actor})
    os.kill(actor, signal.SIGKILL)
    (tmp_path / "hold").unlink()
    other = wait_for(
        lambda: {number for _, _, number in logged(tmp_path, "begin")} - {worker}
    )
    assert {parent_of(number) for number in other} <= spares
    wait_for(lambda: len(answered(spool)) == len(relu_variants.jobs_of(spool)))
    end(process)
    assert logged(tmp_path, "overlap") == []
    assert left_behind(spool) == []


def test_workers_have_what_follows_and_what_others_measured(nodes, recorded, tmp_path):
    spool = spool_of(recorded, tmp_path)
    (tmp_path / "hold").touch()
    process = mover(nodes, spool, "--workers=2", f"--rehearse={tmp_path / 'rehearsed'}")
    wait_for(lambda: len(logged(tmp_path, "begin")) == 2)
    (tmp_path / "hold").unlink()
    wait_for(lambda: len(answered(spool)) == len(relu_variants.jobs_of(spool)))
    end(process)
    workers = {number for _, _, number in logged(tmp_path, "begin")}
    assert len(workers) == 2
    for worker in workers:
        begun, followed = (
            [job for job, _, number in logged(tmp_path, word) if number == worker]
            for word in ("begin", "follows")
        )
        assert begun[1] == followed[0]
    written = {
        path.stem for path in (spool / ".canaries").glob("made-up/*") if path.is_file()
    }
    assert len(written) == 2
    assert logged(tmp_path, "knows")[-1][0] == ",".join(sorted(written))


def test_a_candidate_is_compiled_before_its_turn(recorded, tmp_path):
    """By the real worker, whose GPU is made up: it takes no job, and compiles."""
    spool = spool_of(recorded, tmp_path)
    sources = sorted(path.parent.name for path in spool.glob("*/candidate.cu"))
    with subprocess.Popen(
        [BIN / "fastk-worker", "--spool", spool, "--serve"],
        env=os.environ
        | {
            "LD_LIBRARY_PATH": str(make_gpus(tmp_path, 1)),
            "FASTK_CACHE_DIR": str(tmp_path / "cache"),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        for names in (sources[0], " ".join(sources[:3])):
            assert not list((tmp_path / "cache").glob("nvrtc/*"))
            worker.stdin.write(names + "\n")
            worker.stdin.flush()
            assert worker.stdout.readline().startswith("busy: this GPU takes no jobs")
        wait_for(lambda: len(list((tmp_path / "cache").glob("nvrtc/*"))) >= 2)


def test_a_job_that_kills_workers_is_set_aside(nodes, recorded, tmp_path, monkeypatch):
    spool = spool_of(recorded, tmp_path)
    jobs = relu_variants.jobs_of(spool)
    (program,) = [
        path for path in spool.glob("*/candidate.cu") if "number 3," in path.read_text()
    ]
    poison = program.parent.name
    (tmp_path / "poison").write_text(poison)
    process = mover(nodes, spool, "--workers=4", f"--rehearse={tmp_path / 'rehearsed'}")
    wait_for(lambda: len(answered(spool)) == len(jobs))
    end(process)
    verdict = json.loads((spool / poison / "verdict.json").read_text())
    assert verdict["status"] == "error"
    assert verdict["reason"].startswith("3 workers ended at this job before they had")
    assert "SIGKILL" in verdict["reason"]
    assert [job for job, *_ in logged(tmp_path, "begin")].count(poison) == 3
    assert f"error: {poison} is set aside: 3 workers" in said(spool)
    assert left_behind(spool) == []
    # A search reads it as what it is: no word on the candidate.
    (recorded / "poisoned").mkdir()
    monkeypatch.setenv("FASTK_CACHE_DIR", str(tmp_path / "cache"))
    command = rehearsals.search_command(
        str(BIN / "fastk-opt"),
        str(MODEL),
        str(recorded),
        "poisoned",
        f"spool:{spool}?wait=5",
    )
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "1 error" in result.stderr and relu_variants.FASTEST in result.stderr


def test_what_no_worker_can_answer_is_left(nodes, recorded, tmp_path):
    """And one driver has a spool at a time."""
    spool = spool_of(recorded, tmp_path)
    jobs = relu_variants.jobs_of(spool)
    (tmp_path / "rehearsed" / jobs[0] / "verdict.json").unlink()
    options = ["--workers=2", f"--rehearse={tmp_path / 'rehearsed'}"]
    process = mover(nodes, spool, *options)
    wait_for(lambda: "connected" in said(spool))
    # It waits for a while: the first could be that of a search that was killed.
    second = mover(nodes, spool, *options)
    wait_for(lambda: len(answered(spool)) == len(jobs) - 1)
    wait_for(lambda: "is not among the answered jobs" in said(spool))
    assert second.wait(PATIENCE) == 1
    assert "another python -m fastk.ray has this folder" in said(spool)
    end(process)
    # The job is free for whoever can.
    assert left_behind(spool) == []
    assert not (spool / jobs[0] / "verdict.json").exists()


def test_a_head_node_that_comes_back_is_found(recorded, tmp_path):
    """It is that of another cluster: Ray's driver of the first would wait for ever."""
    spool = spool_of(recorded, tmp_path)
    jobs = relu_variants.jobs_of(spool)
    later = tmp_path / "later"
    later.mkdir()
    for job in jobs[4:]:
        (spool / job).rename(later / job)
    head = {"num_cpus": 2, "num_gpus": 4, "gcs_server_port": free_port()}
    head |= {"object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    options = ["--workers=4", f"--rehearse={tmp_path / 'rehearsed'}"]
    process = mover(cluster, spool, *options)
    try:
        wait_for(lambda: len(answered(spool)) == 4)
        cluster.shutdown()
        for job in later.iterdir():
            job.rename(spool / job.name)
        cluster = Cluster(initialize_head=True, head_node_args=head)
        wait_for(lambda: len(answered(spool)) == len(jobs))
        end(process)
    finally:
        process.kill()
        cluster.shutdown()
    assert said(spool).count("connected to") >= 2
    assert left_behind(spool) == []
