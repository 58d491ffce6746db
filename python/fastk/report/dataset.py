# ===- dataset.py - Variants as training data -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every variant that was judged, with what it came from: docs/formats/dataset.md."""

import json
import re

from . import figures

FORMAT = 1

# Of an ideas prompt: the first block of MLIR is the workload.
_MLIR = re.compile(r"^```mlir\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _text(content):
    return None if content is None else content.decode(errors="replace")


def workload_ir(search):
    """The workload's IR, from the journal's header or a prompt; or None."""
    if search.ir:
        return search.ir
    for exchange in search.exchanges:
        if exchange.kind == "ideas":
            match = _MLIR.search(exchange.user.decode(errors="replace"))
            if match:
                return match[1]
    return None


def _plan(text):
    """A plan as an object; as text where that is no JSON, None where there is none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _program(variant):
    return {
        "digest": variant.digest,
        "language": variant.language or None,
        "program": _text(variant.program),
        "plan": _plan(variant.plan),
        "workspace_bytes": variant.workspace_bytes,
        "parameters": variant.parameters,
    }


def _ratio(ratio):
    return ratio and {"median": ratio.median, "low": ratio.low, "high": ratio.high}


def _idea(search, idea):
    if idea is None:
        return None
    return {
        "id": idea.id,
        "category": idea.category,
        "title": idea.title,
        "text": idea.text,
        "exchange": _exchange(idea.exchange),
    }


def _exchange(exchange):
    if exchange is None:
        return None
    return {
        "model": exchange.model,
        "prompt": exchange.digest,
        "reply": exchange.reply_digest or None,
    }


def _line(search, variant, ir):
    parent = search.by_digest(variant.parent)
    verdict, promotion = variant.verdict, variant.promotion
    return {
        "format": FORMAT,
        "workload": {
            "key": search.key,
            "name": search.name or None,
            "shapes": search.shapes or None,
            "ir": ir,
            "target": search.target,
            "machine": search.settings.get("machine"),
            "precision": search.precision,
            "floor_seconds": search.floor_seconds or None,
        },
        "round": variant.round or None,
        "how": variant.how,
        "idea": _idea(search, variant.idea),
        "parent": _program(parent) if parent and parent is not variant else None,
        "parent_digest": variant.parent or None,
        **_program(variant),
        "status": variant.status,
        "is_valid": variant.is_valid,
        "is_winner": variant is search.winner,
        "diagnostics": {
            "reason": variant.reason,
            "warnings": verdict.warnings() if verdict else [],
            "errors": verdict.worst_errors() if verdict else [],
        },
        "precision": verdict.precision if verdict else None,
        "seconds": variant.seconds or None,
        "baseline_seconds": (verdict.baseline_seconds or None) if verdict else None,
        "speedup": _ratio(verdict.over_baseline) if verdict else None,
        "share_of_floor": figures.share_of_floor(search, variant.seconds),
        "second_measurement": promotion
        and {
            "status": promotion.status,
            "reason": promotion.reason,
            "precision": promotion.precision,
            "seconds": promotion.seconds or None,
            "baseline_seconds": promotion.baseline_seconds or None,
            "speedup": _ratio(promotion.over_baseline),
        },
        "exchange": _exchange(variant.exchange),
    }


def lines(searches):
    """The lines of the file, in the order of proposing: judged variants, once each."""
    for search in searches:
        ir = workload_ir(search)
        for variant in search.variants:
            if variant.verdict or (variant.problem and not variant.duplicate_of):
                entry = _line(search, variant, ir)
                # Surrogates and the like stay escapes: the file is plain ASCII.
                yield json.dumps(entry, allow_nan=False) + "\n"
