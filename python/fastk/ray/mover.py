# ===- mover.py - Jobs to the cluster, verdicts back -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------===#
"""The driver: deals the jobs of a spool out among actors, one for each GPU."""

import collections
import contextlib
import re
import time

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from . import worker
from .answers import Answers

#: More actors than this are not asked for; and how long one without a job is kept, in seconds.
MOST_WORKERS = 256
IDLE_SECONDS = 300
#: For a job that so many could not answer no more are asked for.
MOST_LEAVING = 8
#: How long an actor whose GPU takes no job is left alone.
BUSY_SECONDS = 30
#: Workers keep their own watch on programs; this only catches those that hang themselves.
JOB_SECONDS = 1800
#: How long the driver waits for something to happen: at first, and after a while.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.25
#: Progress is said no more often.
PROGRESS_SECONDS = 30
#: Without an actor for so long the driver looks whether its cluster is still there.
LOOK_SECONDS = 5
#: Before another actor is made where the last could not begin: at first, and at most.
SHORTEST_BACKOFF, LONGEST_BACKOFF = 1, 60


class Member:
    """A GPU, `group` for Ray or None in a rehearsal without one, the actor that has it, and
    what that is at: a job, its beginning, or nothing. From its first answer on there is a
    spare, which takes the actor's place when that ends: it need not start Python again."""

    def __init__(self, actor, group):
        self.actor, self.group = actor, group
        self.spare = None
        self.name = None
        self.job = None
        self.workload = None
        self.since = time.monotonic()
        self.not_before = 0.0
        #: The job whose candidate it compiles meanwhile, and the GPUs' rates that it knows.
        self.following, self.canaries = None, {}
        #: Jobs, and machines of jobs, that it cannot answer.
        self.left = set()

    def fits(self, job):
        """Whether the job is for this actor, as far as it is known, and can be given now."""
        return (
            time.monotonic() >= self.not_before
            and job.name not in self.left
            and ("machine", job.machine) not in self.left
        )


class Mover:
    """`most` bounds the actors (0: as many as there are jobs and GPUs), `rehearsal` names an
    answered spool on the nodes, or is None. `say` is told, a line each."""

    def __init__(self, spool, say, most=0, rehearsal=None, program=None):
        self.spool, self.say = spool, say
        self.takes_gpus = not rehearsal or bool(ray.cluster_resources().get("GPU"))
        self.most = most or (MOST_WORKERS if self.takes_gpus else 1)
        # Nodes need no fastk package.
        ray.cloudpickle.register_pickle_by_value(worker)
        self.worker = ray.remote(worker.Worker)
        self.arguments = program, rehearsal
        self.members = {}
        self.idle = []
        self.answers = Answers(spool, say, self.say_once)
        self.counts = self.answers.counts
        self.left_by = collections.Counter()
        self.begun = time.monotonic()
        self.said, self.said_at = None, self.begun
        self.said_once = set()
        self.backoff, self.make_at = SHORTEST_BACKOFF, 0.0
        self.node = ray.get_runtime_context().get_node_id()
        self.looked_at = self.begun
        self.ended = False

    def run(self):
        """Until `ended` is set, by a signal. Raises ConnectionError where this driver
        belongs to a cluster that is gone: another one finds the new one."""
        pause = SHORTEST_PAUSE
        while not self.ended:
            self.spool.look()
            for name, problem in self.spool.unreadable.items():
                self.say_once(f"error: {name}/job.json: {problem}; the job is left")
            self.answers.write_again()
            self.add_members()
            self.deal()
            done = self.wait(pause)
            pause = SHORTEST_PAUSE if done else min(2 * pause, LONGEST_PAUSE)
            for ref in done:
                self.take(ref, self.members.pop(ref))
            self.spool.renew(self.taken())
            self.end_late()
            self.end_idle()
            self.look_for_cluster()
            self.show()
        self.end()

    def wait(self, seconds):
        if not self.members:
            time.sleep(seconds)
            return []
        return ray.wait(list(self.members), timeout=seconds)[0]

    def running(self):
        return sum(member.job is not None for member in self.members.values())

    def taken(self):
        """The jobs that an actor is at, and those whose end is not written yet."""
        taken = {member.job for member in self.members.values() if member.job}
        return taken | self.answers.kept()

    def waiting(self):
        """The open jobs that nobody is at."""
        taken = self.taken()
        return [job for name, job in self.spool.jobs.items() if name not in taken]

    def add_members(self):
        """Asks for actors while there are jobs for them. Those for which no GPU is free come
        to be when one is, or a cluster that grows makes one."""
        if time.monotonic() < self.make_at:
            return
        waiting = [
            job for job in self.waiting() if self.left_by[job.name] < MOST_LEAVING
        ]
        coming = len(self.members) - self.running()
        coming += sum(any(map(member.fits, waiting)) for member in self.idle)
        missing = len(waiting) - coming
        room = self.most - len(self.members) - len(self.idle)
        for _ in range(min(missing, room)):
            # It is the GPU's for as long as the member lives, whoever of its two ends.
            group = placement_group([{"GPU": 1}]) if self.takes_gpus else None
            self.begin(Member(self.make(group), group))

    def make(self, group):
        """An actor. One that ends is not made anew by Ray: what it was at is tried again by
        this driver, which knows why it ended."""
        options = {"num_cpus": 0, "max_restarts": 0, "max_task_retries": 0}
        if group:
            options["num_gpus"] = 1 / 2
            options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(group)
        return self.worker.options(**options).remote(*self.arguments)

    def begin(self, member):
        self.members[member.actor.begin.remote()] = member

    def release(self, member):
        """Ends what there is of a member, and gives its GPU back."""
        for actor in filter(None, (member.actor, member.spare)):
            ray.kill(actor)
        if member.group:
            remove_placement_group(member.group)

    def replace(self, member):
        """Its actor is no more: the spare takes its place."""
        if not member.spare:
            self.release(member)
            return
        ray.kill(member.actor)
        member.actor, member.spare = member.spare, None
        member.name, member.following, member.canaries = None, None, {}
        self.begin(member)

    def deal(self):
        """Gives each idle actor a job, and the candidate of the one that is to follow."""
        waiting, chosen = self.waiting(), []
        for member in self.idle:
            for job in self.in_order(member, waiting):
                waiting.remove(job)
                if files := self.claim(job):
                    chosen.append((member, job, files))
                    break
        for member, job, files in chosen:
            member.workload = job.workload
            self.give(member, job, files, self.choose_following(member, waiting))

    def in_order(self, member, jobs):
        """Those that fit a member: comparisons of oracles first, without which no answer
        counts; then those of the workload that it had, what it has compiled before what
        others have."""
        others = self.promised_to_others(member)
        return sorted(
            filter(member.fits, jobs),
            key=lambda job: (
                job.mode != "compare",
                job.workload != member.workload,
                job.name != member.following,
                job.name in others,
            ),
        )

    def promised_to_others(self, member):
        members = [*self.members.values(), *self.idle]
        return {other.following for other in members if other is not member}

    def choose_following(self, member, waiting):
        """The job that is likely the member's next, or None."""
        others = self.promised_to_others(member)
        for job in self.in_order(member, waiting):
            if job.candidate and job.name not in others:
                return job
        return None

    def claim(self, job):
        """The files of a job that is this driver's from here on; None where it is not."""
        try:
            return job.files() if self.spool.claim(job.name) else None
        except OSError as error:
            self.spool.give_back(job.name)
            self.say_once(f"error: {job.name}: {error.strerror}: {error.filename}")
            return None

    def give(self, member, job, files, following):
        self.idle.remove(member)
        member.job, member.since = job.name, time.monotonic()
        member.following = None
        if following:
            # It may be gone by now.
            with contextlib.suppress(OSError):
                following = following.name, following.files_to_compile()
                member.following = following[0]
        canaries = {
            gpu: rates
            for gpu, rates in self.spool.canaries.items()
            if member.canaries.get(gpu) != rates
        }
        member.canaries |= canaries
        answer = member.actor.answer.options(name=f"fastk {job.mode}")
        ref = answer.remote(
            job.name, files, following if member.following else None, canaries
        )
        self.members[ref] = member

    def take(self, ref, member):
        """Something that was waited for has ended."""
        job, member.job = member.job, None
        try:
            result = ray.get(ref)
        except ray.exceptions.RayError as error:
            self.lost(member, job, error)
            return
        if job is None:
            self.backoff = SHORTEST_BACKOFF
            member.name, version = result
            self.say(f"{member.name} begins: {version}")
        else:
            word, what, canaries = result
            member.canaries |= canaries
            self.spool.note_canaries(canaries)
            self.heard(member, job, word, what)
            member.spare = member.spare or self.make(member.group)
        member.since = time.monotonic()
        self.idle.append(member)

    def heard(self, member, job, word, what):
        if word == "answered":
            self.answers.answered(job, what)
        elif word == "ended":
            self.answers.died(job, f"{member.name}: {what}")
        else:
            self.spool.give_back(job)
            self.say_once(f"{member.name}: {what}")
            if word == "busy":
                member.not_before = time.monotonic() + BUSY_SECONDS
                return
            member.left.add(job)
            self.left_by[job] += 1
            # Of jobs for another machine one is enough.
            if what.startswith("is for ") and job in self.spool.jobs:
                member.left.add(("machine", self.spool.jobs[job].machine))

    def lost(self, member, job, error):
        """An actor is gone, or could not begin. It may live where no network leads."""
        if job is None:
            self.release(member)
            self.make_at = time.monotonic() + self.backoff
            self.backoff = min(2 * self.backoff, LONGEST_BACKOFF)
            if not isinstance(error, ray.exceptions.ActorUnavailableError):
                self.say_once(f"error: a worker could not begin: {last_of(error)}")
            return
        if is_fault_of_job(error):
            self.answers.died(job, f"{member.name}: {why_ended(error)}")
            self.replace(member)
            return
        # So is what was to take its place.
        self.release(member)
        self.counts["lost"] += 1
        self.spool.give_back(job)
        self.say(f"{member.name} is gone; {job} is for the next")

    def end_late(self):
        for ref, member in list(self.members.items()):
            if member.job and time.monotonic() - member.since > JOB_SECONDS:
                del self.members[ref]
                job, member.job = member.job, None
                self.answers.died(job, f"{member.name}: no answer within {JOB_SECONDS} s")
                self.replace(member)

    def end_idle(self):
        """Gives GPUs back that have nothing to do, and those that are asked for in vain."""
        now = time.monotonic()
        waiting = self.waiting()
        for member in list(self.idle):
            if now - member.since > IDLE_SECONDS:
                self.idle.remove(member)
                self.release(member)
        for ref, member in list(self.members.items()):
            if member.name is None and not waiting and not self.running():
                del self.members[ref]
                self.release(member)

    def look_for_cluster(self):
        """A head node that comes back is that of another cluster, and Ray's driver waits
        for the first one's actors for ever."""
        now = time.monotonic()
        if self.running() or self.idle:
            self.looked_at = now
        if now - self.looked_at < LOOK_SECONDS:
            return
        try:
            nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        except Exception as error:
            raise ConnectionError(f"the cluster does not answer: {error}") from error
        if self.node not in nodes:
            raise ConnectionError("the cluster is gone, or does not know this driver")
        self.looked_at = now

    def show(self):
        now = time.monotonic()
        text = self.progress()
        if text != self.said and now - self.said_at >= PROGRESS_SECONDS:
            self.said, self.said_at = text, now
            self.say(text)

    def progress(self):
        """ "12 done, 4 running, 3 waiting, 1 lost, 0 set aside; 4 workers, 35.1 a minute"."""
        done, running, waiting = (
            self.counts["done"],
            self.running(),
            len(self.waiting()),
        )
        workers = running + len(self.idle)
        rate = 0.0
        if done > 1:
            rate = 60 * (done - 1) / max(
                time.monotonic() - self.answers.first_answer, 1e-3
            )
        text = (
            f"{done} done, {running} running, {waiting} waiting, {self.counts['lost']} lost, "
            f"{self.counts['set aside']} set aside; {workers} workers, {rate:.1f} evaluations "
            "a minute"
        )
        if waiting and not workers:
            text += "; waits for a GPU of the cluster"
        return text

    def say_once(self, text):
        if text not in self.said_once:
            self.said_once.add(text)
            self.say(text)

    def end(self):
        """Gives all jobs and GPUs back."""
        # What is on disk first: Ray's head may be away, and answers nobody then.
        for member in self.members.values():
            if member.job:
                self.spool.give_back(member.job)
        self.answers.end()
        self.say(self.progress())
        for member in self.members.values():
            with contextlib.suppress(Exception):
                self.release(member)


def last_of(error):
    """The last line of what went wrong on a node: the exception's own."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__


def why_ended(error):
    """What Ray knows of an actor's end, without what it says of all ends."""
    if isinstance(error, ray.exceptions.RayTaskError):
        return last_of(error)
    text = " ".join(str(error).split())
    detail = re.search(r"Worker exit detail: (.*?)(?: Some common causes|$)", text)
    return (detail[1] if detail else text)[:300]


def is_fault_of_job(error):
    """Whether an actor ended, or failed, by itself: not where its node, or the way there,
    is gone."""
    if isinstance(
        error, (ray.exceptions.OutOfMemoryError, ray.exceptions.RayTaskError)
    ):
        return True
    if not isinstance(error, ray.exceptions.ActorDiedError):
        return False
    text = str(error)
    return (
        not error.preempted
        and "node has died" not in text
        and "node is dead" not in text
    )
