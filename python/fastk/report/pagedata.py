# ===- pagedata.py - What the page knows -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The data that the page's script shows: plain JSON, objects named by their index."""

import json
import math

from . import figures
from .changes import changes
from .shown import visible
from .verdict import VALID

# What JavaScript's numbers hold exactly.
_EXACT = 1 << 53


class _Texts:
    """All long texts, each once; objects name them by their index."""

    def __init__(self):
        self.list, self._index = [], {}

    def add(self, text):
        if not text:
            return None
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        text = visible(text)
        if text not in self._index:
            self._index[text] = len(self.list)
            self.list.append(text)
        return self._index[text]


def page_data(searches):
    """The data of a page about `searches`."""
    texts = _Texts()
    found = [_Page(each, texts).data() for each in searches]
    return {"searches": found, "texts": texts.list}


def _plain(value):
    """`value` as JavaScript can hold it: no NaN, no number that it would round."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {visible(str(k)): _plain(v) for k, v in value.items()}
    return value


class _Page:
    """The data of one search."""

    def __init__(self, search, texts):
        self.search, self.texts = search, texts
        self.ideas = {idea: i for i, idea in enumerate(search.ideas)}
        self.variants = {v: i for i, v in enumerate(search.variants)}
        self.exchanges = {e: i for i, e in enumerate(search.exchanges)}

    def data(self):
        search = self.search
        tried = [v for each in search.rounds for v in each.tried]
        unreadable = [v for each in search.rounds for v in each.unreadable]
        return _plain(
            {
                "key": search.key,
                "title": search.title,
                "shapes": search.shapes,
                "target": search.target,
                "precision": search.precision,
                "floor": search.floor_seconds or None,
                "baseline": search.baseline_seconds or None,
                "elapsed": search.elapsed,
                "ir": self.texts.add(search.ir),
                "standing": figures.standing(search),
                "end": search.end,
                "endDetail": search.end_detail,
                "foundIn": figures.found_in(search),
                "settings": [[k, v] for k, v in search.settings.items()],
                "notes": search.notes,
                "known": [[each.title, each.text] for each in search.known],
                "winner": self.variants.get(search.winner),
                "best": self.variants.get(search.best),
                "failedPromotions": [
                    [self.variants[v], why] for v, why in search.failed_promotions
                ],
                "trajectory": [
                    {
                        "label": row.label,
                        "seconds": row.seconds,
                        "speedup": row.speedup,
                        "variant": self.variants.get(row.variant),
                    }
                    for row in figures.trajectory(search)
                ],
                "rounds": [self._round(each) for each in search.rounds],
                "total": self._costs(
                    tried,
                    unreadable,
                    search.exchanges,
                    search.elapsed,
                    sum(each.promotions for each in search.rounds),
                ),
                "ideas": [self._idea(each) for each in search.ideas],
                "variants": [self._variant(each) for each in search.variants],
                "exchanges": [self._exchange(each) for each in search.exchanges],
                "failures": [
                    {
                        "status": kind.status,
                        "count": kind.count,
                        "reasons": list(kind.reasons.items())[:5],
                        "variants": [self.variants[v] for v in kind.variants],
                        "exchanges": [self.exchanges[e] for e in kind.exchanges],
                    }
                    for kind in figures.failures(search)
                ],
            }
        )

    def _costs(self, tried, unreadable, exchanges, seconds, promotions):
        cost = figures.cost(exchanges)
        valid = figures.validity(tried, unreadable)
        return {
            "evaluations": len(tried) + promotions,
            "valid": valid.valid,
            "judged": valid.judged,
            "seconds": seconds,
            "exchanges": cost.exchanges,
            "input": cost.input_tokens,
            "cached": cost.cached_tokens,
            "output": cost.output_tokens,
            "reasoning": cost.reasoning_tokens,
            "modelSeconds": cost.seconds,
            "usd": cost.usd if cost.unpriced < cost.exchanges else None,
            "unpriced": cost.unpriced,
            "estimated": cost.is_estimated,
        }

    def _round(self, each):
        return {
            "label": each.label,
            "ideas": [self.ideas[idea] for idea in each.ideas],
            "tried": [self.variants[v] for v in each.tried],
            "unreadable": [self.variants[v] for v in each.unreadable],
            "best": self.variants.get(each.best),
            **self._costs(
                each.tried,
                each.unreadable,
                each.exchanges,
                each.seconds,
                each.promotions,
            ),
        }

    def _idea(self, idea):
        return {
            "id": idea.id,
            "category": idea.category,
            "title": idea.title,
            "text": self.texts.add(idea.text),
            "parent": self.variants.get(self.search.by_digest(idea.parent)),
            "parentDigest": idea.parent,
            "round": idea.round,
            "exchange": self.exchanges.get(idea.exchange),
            "variants": None
            if idea.variants is None
            else [self.variants[v] for v in idea.variants],
            "replies": [
                i for e, i in self.exchanges.items() if e.about is idea
            ],
        }

    def _variant(self, v):
        parent = self.search.by_digest(v.parent)
        program = self.texts.add(v.program)
        data = {
            "digest": v.digest,
            "idea": self.ideas.get(v.idea),
            "language": v.language,
            "program": program,
            "programDigest": v.program_digest,
            "plan": self.texts.add(v.plan),
            "workspace": v.workspace_bytes,
            "parameters": [[k, x] for k, x in v.parameters.items()],
            "parent": self.variants.get(parent),
            "parentDigest": v.parent,
            "how": v.how,
            "children": [self.variants[c] for c in v.children],
            "exchange": self.exchanges.get(v.exchange),
            "duplicateOf": self.variants.get(v.duplicate_of),
            "status": v.status,
            "isValid": v.is_valid,
            "reason": v.reason,
            "seconds": v.seconds,
            "baseline": v.verdict.baseline_seconds if v.verdict else 0,
            "speedup": v.speedup,
            "floorShare": figures.share_of_floor(self.search, v.seconds),
            "round": v.round,
            "order": v.order,
            "wasBest": v.was_best,
            "elapsed": v.elapsed,
            "verdict": self._verdict(v.verdict),
            "promotion": self._verdict(v.promotion),
            "changes": None,
            "planChanges": None,
        }
        is_shown = v.verdict or v.problem or v.how != "neighbours"
        if parent and parent is not v and is_shown:
            before = self.texts.add(parent.program)
            if before is not None and program is not None:
                data["changes"] = changes(
                    self.texts.list[before], self.texts.list[program]
                )
            if parent.plan and v.plan:
                data["planChanges"] = changes(visible(parent.plan), visible(v.plan))
        return data

    def _verdict(self, verdict):
        if verdict is None:
            return None
        raw = {k: v for k, v in verdict.raw.items() if k != "errors"}
        timing = raw.get("timing") if isinstance(raw.get("timing"), dict) else {}
        gpu = raw.get("gpu") if isinstance(raw.get("gpu"), dict) else {}
        kernels = gpu.get("kernels") if isinstance(gpu.get("kernels"), list) else []
        return {
            "status": verdict.status,
            "isValid": verdict.status in VALID,
            "reason": verdict.reason,
            "precision": verdict.precision,
            "seconds": verdict.seconds,
            "floorShare": figures.share_of_floor(self.search, verdict.seconds),
            "times": [
                [name, timing[name]]
                for name in ("candidate", "baseline", "incumbent")
                if isinstance(timing.get(name), dict)
            ],
            "ratios": [
                [name, ratio.median, ratio.low, ratio.high]
                for name, ratio in (
                    ("over the default lowering", verdict.over_baseline),
                    ("over the best so far", verdict.over_incumbent),
                    ("the baseline against itself", verdict.control),
                )
                if ratio
            ],
            "errors": verdict.worst_errors(),
            "kernels": [each for each in kernels if isinstance(each, dict)],
            "warnings": verdict.warnings(),
            "raw": self.texts.add(json.dumps(_plain(raw), indent=1)),
        }

    def _exchange(self, e):
        return {
            "digest": e.digest,
            "kind": e.kind,
            "name": e.name,
            "sample": e.sample,
            "templates": e.templates,
            "system": self.texts.add(e.system),
            "user": self.texts.add(e.user),
            "schema": self.texts.add(e.schema),
            "reply": self.texts.add(e.reply),
            "replyDigest": e.reply_digest,
            "model": e.model,
            "status": e.status,
            "failure": e.failure,
            "problem": e.problem,
            "usage": e.usage,
            "elapsed": e.elapsed,
            "round": e.round,
            "ideas": [self.ideas[i] for i in e.ideas],
            "variants": [self.variants[v] for v in e.variants],
            "about": self.ideas.get(e.about),
        }
