# ===- search.py - A search, read from its journal -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Puts a search together from its journal's events, in their order."""

import re

from .errors import ReportError
from .digests import novelty_digest
from .events import BANK, exchange_of, ideas_of, variants_of
from .journal import UNREADABLE, Journal, find_journals
from .lineage import Lineage, assign_rounds
from .model import Search
from .trials import Trials
from .verdict import PRECISIONS, Verdict

_NAMES = {
    "realise": re.compile(r"realise/(\d+/\d+)(?:/(\d+))?"),
    "repair": re.compile(r"repair/([0-9a-f]{64})"),
    "neighbours": re.compile(r"neighbours/([0-9a-f]{64})/\d+"),
    "evaluate": re.compile(r"evaluate/([0-9a-f]{64})"),
    "promote": re.compile(r"promote/([0-9a-f]{64})(?:/\d+)?"),
}


def read_searches(path, reports=None):
    """The searches whose journals are at `path`: one folder, or several in one.

    Args:
      reports: {key: workload} of the file of fastk-opt --report, see read_report.

    Raises ReportError.
    """
    folders = find_journals(path)
    searches = []
    for folder in folders:
        try:
            searches.append(read_search(Journal(folder), reports))
        except ReportError as error:
            # One that has just been made is no reason to show none of the others.
            if len(folders) == 1 or "holds no event" not in error.message:
                raise
    if not searches:
        raise ReportError(
            "no search has begun here", "run it, then report it", (path, None)
        )
    return searches


def read_search(journal, reports=None):
    """The Search of one Journal."""
    return _Builder(journal, (reports or {}).get(journal.binding["key"], {})).search


class _Builder:
    def __init__(self, journal, report):
        self.journal = journal
        binding, about = journal.binding, journal.about
        if binding["precision"] not in PRECISIONS:
            about.fail(f"the precision '{binding['precision']}' is unknown")
        self.search = Search(
            key=binding["key"],
            target=binding["target"],
            precision=binding["precision"],
            settings=dict(binding),
            name=about.text("name", "") or report.get("name", ""),
            shapes=about.text("shapes", "") or report.get("shapes", ""),
            ir=about.text("ir", ""),
            # That of the last run, where it is known: machines are measured again.
            floor_seconds=report.get("floor_seconds")
            or about.number("floor_seconds", 0),
            end=report.get("end", ""),
            end_detail=report.get("end_detail", ""),
            no_winner_reason=report.get("no_winner_reason", ""),
            notes=list(journal.notes),
        )
        self._ideas = {}  # By id.
        self._asked = {}  # The ideas of an event, by its name.
        self._variants = {}  # By digest: the first one.
        self._made = {}  # The variants of an event, by its name.
        events = journal.events
        asked = [
            (p, e.name.partition("/")[0])
            for p, e in enumerate(events)
            if e.type == "ideas" and e.name != BANK
        ]
        realised = [e.name.split("/") for e in events if e.type == "variants"]
        last = [name[1] for name in realised if name[0] == "realise" and len(name) > 1]
        self._trials = Trials(self.search, last[-1] if last else "1")
        self._exchanges = {}  # By the position of an event that tells of it.
        self._read_exchanges(events)
        self._lineage = Lineage(self.search.exchanges)
        assign_rounds(self.search.exchanges, asked)
        take = {
            "exchange": self._take_exchange,
            "ideas": self._take_ideas,
            "variants": self._take_variants,
            "evaluation": self._take_verdict,
        }
        labels = [
            take[event.type](event, position) for position, event in enumerate(events)
        ]
        self._finish(labels)

    def _read_exchanges(self, events):
        latest = {}  # By the event's name.
        for position, event in enumerate(events):
            if event.type != "exchange":
                continue
            found = exchange_of(self.journal, event, position)
            first = latest.get(event.name)
            if found.status == UNREADABLE and first is not None:
                first.status, first.problem = found.status, found.problem
                found = first
            else:
                self.search.exchanges.append(found)
            latest[event.name] = self._exchanges[position] = found

    # Each returns the label of the round that the event is of.

    def _take_exchange(self, event, position):
        found = self._exchanges[position]
        if found.position == position:
            self._trials.round(found.round).exchanges.append(found)
        return found.round

    def _take_ideas(self, event, position):
        ideas = ideas_of(event, position)
        if event.name == BANK:
            self.search.known = ideas
            return self._trials.label
        # Behind the last round those come again whose programs had failed.
        new = [each for each in ideas if not self._is_known(each)]
        self.search.ideas += new
        self._asked[event.name] = [
            self._ideas[each.id] if self._is_known(each) else each for each in ideas
        ]
        for idea in ideas:
            self._ideas.setdefault(idea.id, idea)
        label = event.name.partition("/")[0]
        self._trials.ideas_asked(label, new)
        self._lineage.ideas(position, new, label)
        return self._trials.label

    def _is_known(self, idea):
        known = self._ideas.get(idea.id)
        return known is not None and known.text == idea.text

    def _take_variants(self, event, position):
        how, match = self._parse(event, ("realise", "repair", "neighbours"))
        source = "" if how == "realise" else match[1]
        made = variants_of(
            self.journal, event, position, how, self._ideas, source=source
        )
        # What was asked again after a failure holds what was made before.
        before = {each.digest: each for each in self._made.get(event.name, ())}
        new = [each for each in made if each.digest not in before]
        self.search.variants += new
        made = [before.get(each.digest, each) for each in made]
        self._made[event.name] = made
        if how == "realise":
            # A sequential search has one idea a round, and no number for it.
            ideas, number = self._asked.get(match[1], []), int(match[2] or 0)
            if number >= len(ideas):
                event.fields.fail("realises an idea that nobody had")
            digests = {each.digest for each in made}
            had = ideas[number].variants or []
            others = [each for each in had if each.digest not in digests]
            ideas[number].variants = others + made
            for variant in made:
                variant.idea = ideas[number]
        self._trials.variants_asked(new, source if how == "neighbours" else None)
        if how != "neighbours":
            self._lineage.variants(position, new, self._variants.get(source))
        for variant in made:
            self._variants.setdefault(variant.digest, variant)
        return self._trials.label

    def _take_verdict(self, event, position):
        how, match = self._parse(event, ("evaluate", "promote"))
        verdict = Verdict(event.fields.object("verdict").raw)
        if how == "promote":
            self._trials.promoted(match[1], verdict)
            return "promoted"
        return self._trials.evaluated(match[1], verdict, event.elapsed).round

    def _parse(self, event, hows):
        for how in hows:
            match = _NAMES[how].fullmatch(event.name)
            if match:
                return how, match
        return event.fields.fail(f"its name is none of {', '.join(hows)}")

    def _finish(self, labels):
        search = self.search
        before = 0.0
        for event, label in zip(self.journal.events, labels, strict=True):
            self._trials.round(label).seconds += max(0.0, event.elapsed - before)
            before = max(before, event.elapsed)
        search.elapsed = before
        search.rounds = self._trials.rounds()
        self._lineage.rest(search.ideas)
        search.index()
        self._find_duplicates()
        for variant in search.variants:
            parent = search.by_digest(variant.parent)
            is_left = variant.how == "neighbours" and variant.verdict is None
            if variant.how in ("repair", "neighbours") and parent and not is_left:
                parent.children.append(variant)

    def _find_duplicates(self):
        """Finds, of what was not evaluated, the same program that was."""
        search = self.search
        tried = {}
        for variant in search.variants:
            if variant.program is not None and (variant.verdict or variant.round):
                tried.setdefault(novelty_digest(variant), variant)
        for variant in search.variants:
            first = search.by_digest(variant.digest)
            if first is variant and variant.status == "not evaluated":
                first = tried.get(novelty_digest(variant), variant)
            if first is variant:
                continue
            variant.duplicate_of = first
            if first.program is None:
                # A winner of the bank that was proposed once more.
                first.program, first.language = variant.program, variant.language
                first.program_digest, first.plan = variant.program_digest, variant.plan
