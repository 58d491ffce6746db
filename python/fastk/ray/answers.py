# ===- answers.py - What became of jobs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------===#
"""Verdicts and deaths on their way to the spool, whose disk may be full."""

import collections
import time

from .folder import failed_verdict

#: So many workers that end at a job are the job's fault.
MOST_DEATHS = 3


class Answers:
    """What a full disk does not take is kept, and written when there is room: such jobs are
    nobody else's meanwhile. `say` is told a line each, `say_once` what may come often."""

    def __init__(self, spool, say, say_once):
        self.spool, self.say, self.say_once = spool, say, say_once
        self.counts = collections.Counter()
        self.first_answer = None
        #: (job, verdict) and (job, reason of a worker's end).
        self.unwritten, self.uncounted = [], []

    def kept(self):
        """The jobs of which something is to be written."""
        return {job for job, _ in self.unwritten + self.uncounted}

    def answered(self, job, verdict):
        try:
            self.spool.answer(job, verdict)
        except ValueError as error:
            self.died(job, f"what a worker gave as its verdict is none: {error}")
        except FileNotFoundError:
            # Nobody asks any more.
            self.spool.jobs.pop(job, None)
        except OSError as error:
            self.unwritten.append((job, verdict))
            self.say_once(
                f"error: {job}/verdict.json: {error.strerror}; it is kept, and written when "
                "there is room"
            )
        else:
            self.counts["done"] += 1
            self.first_answer = self.first_answer or time.monotonic()

    def died(self, job, reason):
        """A worker ended at the job."""
        self.counts["lost"] += 1
        self._count_death(job, reason)

    def _count_death(self, job, reason):
        # Somebody else may have answered it while the disk was full.
        if self.spool.is_answered(job):
            return
        try:
            deaths = self.spool.note_death(job, reason)
            if deaths < MOST_DEATHS:
                self.say(f"{job} is tried again, its worker ended: {reason}")
                return
            text = f"{deaths} workers ended at this job before they had answered it: {reason}"
            self.spool.answer(job, failed_verdict(job, text))
        except FileNotFoundError:
            self.spool.jobs.pop(job, None)
            return
        except OSError as error:
            # Without the note its claim would keep the job from everybody. To note the
            # same death a second time changes nothing.
            self.uncounted.append((job, reason))
            self.say_once(
                f"error: {job}: {error.strerror}; that its worker ended is kept, and "
                "written when there is room"
            )
            return
        self.counts["set aside"] += 1
        self.say(f"error: {job} is set aside: {text}")

    def write_again(self):
        again, self.unwritten = self.unwritten, []
        for job, verdict in again:
            self.answered(job, verdict)
        again, self.uncounted = self.uncounted, []
        for job, reason in again:
            self._count_death(job, reason)

    def end(self):
        """Tries for the last time; jobs that it is in vain for are as if they had not been
        given to a worker."""
        self.write_again()
        for job in self.kept():
            self.spool.give_back(job)
