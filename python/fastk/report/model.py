# ===- model.py - What a search consists of -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Ideas, variants, exchanges: the events of a journal as objects that know each other.

events.py makes them, trials.py orders and ranks them, lineage.py connects them with
the exchanges that they came from; search.py does all three.
"""

import dataclasses
import typing

from .verdict import VALID, Verdict


@dataclasses.dataclass(eq=False)
class Exchange:
    """A prompt and its reply. Texts are bytes, empty where there is none."""

    position: int  #: Among the journal's events.
    digest: str  #: The prompt's.
    kind: str  #: ideas, variant, repair
    name: str  #: For people.
    sample: int
    templates: str  #: What identifies the templates that it was written from.
    system: bytes
    user: bytes
    schema: bytes
    model: str
    status: str  #: complete, truncated, refused, failed, unreadable
    failure: str
    problem: str
    reply: bytes
    reply_digest: str  #: SHA-256 of the reply's text, or empty.
    usage: dict
    elapsed: float
    round: str = ""
    #: What was made of the reply; empty: nothing.
    ideas: list = dataclasses.field(default_factory=list)
    variants: list = dataclasses.field(default_factory=list)
    #: The idea that it was to realise or mend, where that is known.
    about: typing.Any = None


@dataclasses.dataclass(eq=False)
class Idea:
    id: str
    category: str
    title: str
    text: str
    parent: str  #: Digest of the variant that it builds on, or empty.
    round: str
    proposer: int
    number: int  #: Among those of its proposer in its round.
    position: int
    #: Those realised from it directly; None: not asked for yet.
    variants: list | None = None
    exchange: Exchange | None = None


@dataclasses.dataclass(eq=False)
class Variant:
    digest: str
    idea: Idea | None  #: None for a winner of the bank, which the search began with.
    language: str
    program: bytes | None  #: None where the journal does not hold it.
    program_digest: str
    plan: str | None
    workspace_bytes: int
    parameters: dict
    parent: str  #: Digest of the variant that it was made from, or empty.
    problem: str  #: Why it is no program, or empty.
    how: str  #: realise, repair, neighbours, seed
    position: int
    number: int  #: In its event's list.
    #: Those made from it: repairs, and neighbours that were tried.
    children: list = dataclasses.field(default_factory=list)
    exchange: Exchange | None = None
    #: The same program, proposed earlier: it is not evaluated again.
    duplicate_of: "Variant | None" = None
    verdict: Verdict | None = None
    promotion: Verdict | None = None
    elapsed: float = 0.0  #: Of its evaluation.
    round: str = ""  #: In which it was tried.
    order: int | None = None  #: Among all trials.
    was_best: bool = False  #: The best of all when it had been tried.

    @property
    def status(self):
        if self.problem:
            return "unreadable"
        if self.verdict:
            return self.verdict.status
        return "duplicate" if self.duplicate_of else "not evaluated"

    @property
    def reason(self):
        return self.problem or (self.verdict.reason if self.verdict else "")

    @property
    def is_valid(self):
        return self.status in VALID

    @property
    def speedup(self):
        return self.verdict.speedup if self.verdict else 0.0

    @property
    def seconds(self):
        return self.verdict.seconds if self.verdict else 0.0


@dataclasses.dataclass(eq=False)
class Round:
    """A round, the sweep at the end, or the second measurement."""

    label: str  #: "1", "2", ..., "sweep", "promoted"
    ideas: list = dataclasses.field(default_factory=list)
    tried: list = dataclasses.field(default_factory=list)  #: Evaluated, in order.
    unreadable: list = dataclasses.field(default_factory=list)
    exchanges: list = dataclasses.field(default_factory=list)
    promotions: int = 0
    seconds: float = 0.0  #: Of searching.
    best: Variant | None = None  #: The fastest of this round.


@dataclasses.dataclass(eq=False)
class Search:
    """A search of one workload.

    Attributes:
      key, target, precision: the workload and the loosest class accepted.
      name, shapes, ir: of the workload; empty where the journal does not tell.
      floor_seconds, baseline_seconds: 0 where unknown.
      settings: what the search was bound to, {name: value}.
      end, end_detail, no_winner_reason: from the file of fastk-opt --report;
        empty without it.
      ideas, variants, exchanges: all of them, in the journal's order.
      known: what banks knew of similar workloads, Ideas that were not searched.
      trials: the evaluated variants, in order.
      rounds: those in which anything happened, in order.
      best: the variant that led when the journal ended, or None.
      winner: the variant that passed its second measurement, or None.
      failed_promotions: [(variant, why)].
      elapsed: seconds of searching.
      notes: what a reader should know.
    """

    key: str
    target: str
    precision: str
    settings: dict
    name: str = ""
    shapes: str = ""
    ir: str = ""
    floor_seconds: float = 0.0
    baseline_seconds: float = 0.0
    end: str = ""
    end_detail: str = ""
    no_winner_reason: str = ""
    ideas: list = dataclasses.field(default_factory=list)
    known: list = dataclasses.field(default_factory=list)
    variants: list = dataclasses.field(default_factory=list)
    exchanges: list = dataclasses.field(default_factory=list)
    trials: list = dataclasses.field(default_factory=list)
    rounds: list = dataclasses.field(default_factory=list)
    best: Variant | None = None
    winner: Variant | None = None
    failed_promotions: list = dataclasses.field(default_factory=list)
    elapsed: float = 0.0
    notes: list = dataclasses.field(default_factory=list)

    @property
    def title(self):
        return self.name or f"workload {self.key[:8]}"

    def by_digest(self, digest):
        """The variant of that name, or None."""
        return self._index.get(digest)

    def index(self):
        self._index = {}
        for variant in self.variants:
            # The one that was tried stands for its duplicates.
            known = self._index.get(variant.digest)
            if known is None or (variant.verdict and not known.verdict):
                self._index[variant.digest] = variant
