# ===- lineage.py - Which reply a variant came from -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Connects ideas and variants with the exchanges that they came from.

A journal records exchanges and what was made of them one after the other, not which
belongs to which. The texts tell: a reply holds its ideas' titles or its program, a
prompt the idea to realise or the program to mend. A pair is connected only where
they do.
"""

import json
import re

#: The share of a program's lines that its reply must hold. Not all: a proposer may
#: add lines, and values of parameters are put in.
_ENOUGH = 0.6
#: So many digits of a digest are in the name of a prompt to mend its variant.
_NAME = 12
_ROUND = re.compile(r"(?:^|[-_.])round[-_.]?(\d+)(?:[-_.]|$)")


def _holds(text, phrase):
    """Whether `text` has `phrase`, as it is or as a JSON string spells it."""
    return bool(phrase) and (
        phrase in text
        or json.dumps(phrase)[1:-1] in text
        or json.dumps(phrase, ensure_ascii=False)[1:-1] in text
    )


def _mentions(exchange, idea):
    """Whether an exchange's prompt names an idea."""
    prompt = exchange.user.decode(errors="replace")
    return _holds(prompt, idea.text.strip()) or _holds(prompt, idea.title)


class Lineage:
    """Told what was made, event by event, in order; exchanges are taken once."""

    def __init__(self, exchanges):
        self._exchanges = exchanges
        self._taken = set()
        self._lines = {}

    def ideas(self, position, ideas, label):
        """What the event 'ideas' at `position` holds, of the round `label`."""
        free = self._free(position, {"ideas", "repair"})
        for exchange in reversed(free):
            reply = exchange.reply.decode(errors="replace")
            self._take_ideas(
                exchange, [each for each in ideas if _holds(reply, each.title)]
            )
        # Titles may have been shortened. Where one model was asked it is clear.
        asked = [e for e in free if e.kind == "ideas" and e.round == label]
        if len({each.model for each in asked}) == 1:
            self._take_ideas(asked[-1], ideas)

    def _take_ideas(self, exchange, ideas):
        for idea in ideas:
            if idea.exchange is None:
                idea.exchange = exchange
                exchange.ideas.append(idea)
                self._taken.add(exchange)

    def variants(self, position, variants, mended=None):
        """What the event 'variants' at `position` holds, of one idea.

        `mended` is the variant that they are to replace.
        """
        free = self._free(position, {"repair"} if mended else {"variant"})
        pairs = []
        for variant in variants:
            for exchange in free:
                share = self._share(variant.program, exchange.reply)
                # A reply without a program is known by its prompt alone.
                if share < _ENOUGH and not variant.problem:
                    continue
                asked = self._asks(exchange, variant, mended)
                if share >= _ENOUGH or asked:
                    pairs.append((share >= _ENOUGH, asked, share, variant, exchange))
        # The surest first; of equals in the order of asking.
        pairs.sort(
            key=lambda pair: (
                not pair[0],
                not pair[1],
                -pair[2],
                pair[3].number,
                pair[4].sample,
                pair[4].position,
            )
        )
        for *_, variant, exchange in pairs:
            if variant.exchange is None and exchange not in self._taken:
                variant.exchange = exchange
                exchange.variants.append(variant)
                self._taken.add(exchange)

    def rest(self, ideas):
        """Of replies that became nothing: the idea that they were about."""
        for exchange in self._exchanges:
            if exchange.kind != "ideas" and not exchange.variants:
                exchange.about = next(
                    (each for each in ideas if _mentions(exchange, each)), None
                )

    def _free(self, position, kinds):
        return [
            each
            for each in self._exchanges
            if each.position < position
            and each.kind in kinds
            and each not in self._taken
        ]

    def _asks(self, exchange, variant, mended):
        """Whether the prompt is about this variant's idea and what it mends."""
        if mended and mended.digest[:_NAME] in exchange.name:
            return True
        if variant.idea and not _mentions(exchange, variant.idea):
            return False
        if not mended or not mended.program:
            return True
        return self._share(mended.program, exchange.user) >= _ENOUGH

    def _share(self, inner, outer):
        """Which share of the lines of `inner` is in `outer`; 0 for no lines."""
        lines = self._set(inner or b"")
        return len(lines & self._set(outer)) / len(lines) if lines else 0.0

    def _set(self, content):
        if content not in self._lines:
            text = content.decode(errors="replace")
            self._lines[content] = {line.strip() for line in text.splitlines()} - {""}
        return self._lines[content]


def assign_rounds(exchanges, rounds_of_ideas):
    """Fills in the round of each exchange: by its name, else by its place.

    `rounds_of_ideas` are the events 'ideas' as (position, round), in order.
    """
    for exchange in exchanges:
        match = _ROUND.search(exchange.name)
        if match:
            exchange.round = match[1]
            continue
        before = [r for p, r in rounds_of_ideas if p < exchange.position]
        after = [r for p, r in rounds_of_ideas if p > exchange.position]
        now = before[-1] if before else "0"
        if exchange.kind == "ideas":
            exchange.round = after[0] if after else str(int(now) + 1)
        else:
            exchange.round = now if before else "1"
