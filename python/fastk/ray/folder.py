# ===- folder.py - The spool, as the mover sees it -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-------------------------------------------------------------===#
"""Jobs, claims and verdicts of a spool (docs/formats/spool.md)."""

import contextlib
import hashlib
import json
import os
import time

from . import worker

#: How often claims are renewed, and answered jobs looked at again, in seconds.
RENEWAL = 10
WHOLE_PAUSE = 60

#: What differs between jobs of one workload.
_OF_ONE_JOB = ("id", "mode", "seed", "floor_ns", "validate", "time", "profile")


class Job:
    """An open job: `machine` is whose times are asked for, `workload` equal for jobs of
    which a worker keeps oracle and inputs."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        self.name = name
        with open(os.path.join(self.folder, "job.json"), "rb") as file:
            job = json.load(file)
        self.mode = str(job.get("mode"))
        self.machine = str(job.get("machine", ""))
        programs = job.get("programs", {})
        self.candidate = programs.get("candidate", {}).get("path")
        common = {field: job[field] for field in job if field not in _OF_ONE_JOB}
        common["programs"] = {
            role: programs[role] for role in ("oracle", "baseline") if role in programs
        }
        digest = hashlib.sha256(json.dumps(common, sort_keys=True).encode())
        for role in common["programs"].values():
            path = os.path.join(self.folder, os.path.basename(str(role.get("path"))))
            with open(path, "rb") as file:
                digest.update(file.read())
        self.workload = digest.hexdigest()

    def files(self):
        """{name: bytes} of what a worker needs."""
        found = {}
        for entry in os.scandir(self.folder):
            if entry.name.startswith((".", "claim-", "verdict")) or not entry.is_file():
                continue
            with open(entry.path, "rb") as file:
                found[entry.name] = file.read()
        return found


    def files_to_compile(self):
        """{name: bytes} of what a candidate is compiled of before the job's turn."""
        found = {}
        for name in ("job.json", os.path.basename(str(self.candidate))):
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()
        return found


class Spool:
    """The folder. One mover has it at a time; workers that share it are kept out of by
    claims, as they are by each other."""

    def __init__(self, path):
        self.path = path
        self.jobs = {}
        self.unreadable = {}
        #: The rates of GPUs, those of workers that share the folder among them.
        self.canaries = {}
        self._seen, self._last_whole = set(), -WHOLE_PAUSE
        self._renewed = 0.0
        self.identity = {"format": 1, **identity(), "ray": True}

    def look(self):
        """Takes in jobs that are new, and forgets those that are answered or gone."""
        now = time.monotonic()
        if now - self._last_whole >= WHOLE_PAUSE:
            self._seen, self._last_whole = set(self.jobs), now
            self.canaries |= worker.canaries_in(self.path)
        for name in list(self.jobs):
            if self.is_answered(name) or not os.path.exists(
                self._file(name, "job.json")
            ):
                del self.jobs[name]
                # One that is gone may be written again.
                if not self.is_answered(name):
                    self._seen.discard(name)
        for name in sorted(os.listdir(self.path)):
            if not name.startswith("job-") or name in self._seen:
                continue
            if not os.path.exists(self._file(name, "job.json")):
                continue
            self._seen.add(name)
            if self.is_answered(name):
                continue
            try:
                self.jobs[name] = Job(self.path, name)
            except (OSError, ValueError, AttributeError, TypeError) as error:
                self.unreadable[name] = str(error)

    def is_answered(self, name):
        return os.path.exists(self._file(name, "verdict.json"))

    def claim(self, name):
        """Whether the job is this mover's now; False where another worker has it."""
        number = max(self._claims(name), default=0)
        if number and "died" not in self._read_claim(name, number):
            return False
        path = self._file(name, f"claim-{number + 1}")
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(json.dumps(self.identity) + "\n")
        except FileExistsError:
            return False
        except OSError:
            self._unlink(name, os.path.basename(path))
            raise
        return True

    def give_back(self, name):
        """The job is as if this mover had not had it."""
        number = max(self._claims(name), default=0)
        if number and self._read_claim(name, number).get("pid") == os.getpid():
            self._unlink(name, f"claim-{number}")

    def note_death(self, name, reason):
        """A worker ended at the job. Returns how many have, by now: their claims stay, so
        that it is known to whoever comes next."""
        number = max(self._claims(name), default=1)
        died = {"format": 1, "ray": True, "died": reason}
        temporary = self._file(name, ".claim-ray")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(died, file)
            os.replace(temporary, self._file(name, f"claim-{number}"))
        except OSError:
            self._unlink(name, ".claim-ray")
            raise
        return number

    def free_claims(self):
        """Frees jobs that a mover had which was killed: no worker ended at them. For whoever
        has the folder's lock."""
        for name in self.jobs:
            number = max(self._claims(name), default=0)
            claim = self._read_claim(name, number) if number else {}
            # One that is not whole was cut off by a kill.
            if number and "died" not in claim and (claim.get("ray") or not claim):
                self._unlink(name, f"claim-{number}")

    def renew(self, names):
        """Says of the claims of these jobs that they are not left."""
        now = time.monotonic()
        if now - self._renewed < RENEWAL:
            return
        self._renewed = now
        for name in names:
            with contextlib.suppress(OSError):
                os.utime(
                    self._file(name, f"claim-{max(self._claims(name), default=0)}")
                )

    def answer(self, name, verdict):
        """Writes the verdict, bytes, unless another one is there: the first stays. Raises
        ValueError where it is not one on this job, OSError where it cannot be written."""
        parsed = json.loads(verdict)
        if not isinstance(parsed, dict) or parsed.get("id") != name:
            raise ValueError(f"is no verdict on {name}")
        final = self._file(name, "verdict.json")
        temporary = self._file(name, ".verdict-ray")
        try:
            with open(temporary, "wb") as file:
                file.write(verdict)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(temporary, final)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        for number in self._claims(name):
            self._unlink(name, f"claim-{number}")
        self.jobs.pop(name, None)

    def note_canaries(self, canaries):
        """Rates that a GPU of the cluster told. Where they cannot be written those who
        share the folder have fewer to compare with."""
        self.canaries |= canaries
        with contextlib.suppress(OSError):
            worker.add_canaries(self.path, canaries)

    def _file(self, name, file):
        return os.path.join(self.path, name, file)

    def _unlink(self, name, file):
        with contextlib.suppress(OSError):
            os.unlink(self._file(name, file))

    def _claims(self, name):
        try:
            names = os.listdir(os.path.join(self.path, name))
        except OSError:
            return []
        return [int(n[6:]) for n in names if n.startswith("claim-") and n[6:].isdigit()]

    def _read_claim(self, name, number):
        try:
            with open(self._file(name, f"claim-{number}"), "rb") as file:
                claim = json.load(file)
        except (OSError, ValueError):
            return {}
        return claim if isinstance(claim, dict) else {}


def identity():
    """This process, as claims name it."""
    with open("/proc/self/stat", encoding="utf-8") as file:
        # The second field is a name in brackets, which may hold anything.
        started = file.read().rpartition(")")[2].split()[19]
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        boot = file.read().strip()
    return {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "started": started,
        "boot": boot,
        "processes": os.readlink("/proc/self/ns/pid"),
    }


def failed_verdict(name, reason):
    """The bytes of the verdict `error`, which is no word on the candidate."""
    verdict = {
        "format": 1,
        "id": name,
        "status": "error",
        "reason": reason,
        "precision": "none",
        "errors": [],
        "timing": {},
        "competitors": [],
        "protections": [],
        "missing_protections": [],
        "resources": {"peak_memory_bytes": 0, "cpu_seconds": 0, "wall_seconds": 0},
        "audit": {
            "seed": 0,
            "candidate_hash": 0,
            "trials": 0,
            "distributions": [],
            "left_out": [],
            "timed_outputs_checked": 0,
            "audited_calls": 0,
        },
    }
    return (json.dumps(verdict) + "\n").encode()
