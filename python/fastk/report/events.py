# ===- events.py - From a journal's events to objects -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes the objects of a search from the events of its journal.

What is evaluated when, and what came of it, is for trials.py.
"""

import re

from .digests import variant_digest
from .journal import UNREADABLE, USABLE
from .model import Exchange, Idea, Variant

_STATUSES = USABLE | {"refused", "failed", UNREADABLE}


def exchange_of(journal, event, position):
    """The Exchange of an event 'exchange'."""
    prompt, reply = event.fields.object("prompt"), event.fields.object("reply")
    usage = reply.object("usage")
    status = reply.text("status")
    if status not in _STATUSES:
        reply.fail(f"its field 'status' is '{status}', which is unknown")
    texts = {
        name: journal.text(prompt.digest(name), prompt)
        for name in ("system", "user", "schema")
    }
    return Exchange(
        position=position,
        digest=event.name.partition(" ")[0],
        kind=prompt.text("kind"),
        name=prompt.text("name"),
        sample=prompt.integer("sample"),
        templates=prompt.text("templates", ""),
        **texts,
        model=reply.text("model"),
        status=status,
        failure=reply.text("failure", ""),
        problem=reply.text("problem", ""),
        reply=journal.text(reply.digest("text"), reply),
        reply_digest=reply.digest("text"),
        usage={
            **{
                name: usage.integer(name, 0)
                for name in (
                    "input_tokens",
                    "cached_tokens",
                    "output_tokens",
                    "reasoning_tokens",
                    "attempts",
                )
            },
            "seconds": usage.number("seconds", 0),
            "usd": usage.number("usd", None),
            "estimated": usage.flag("estimated", False),
        },
        elapsed=event.elapsed,
    )


#: The name of the event with what banks know of similar workloads.
BANK = "bank"


def ideas_of(event, position):
    """The Ideas of an event 'ideas', whose name is ROUND/PROPOSER, or BANK."""
    match = re.fullmatch(r"(\d+)/(\d+)", "0/0" if event.name == BANK else event.name)
    if not match:
        event.fields.fail(f"its name is neither ROUND/PROPOSER nor '{BANK}'")
    return [
        Idea(
            id=fields.text("id"),
            category=fields.text("category"),
            title=fields.text("title"),
            text=fields.text("text"),
            parent=fields.parent(),
            round=match[1],
            proposer=int(match[2]),
            number=number,
            position=position,
        )
        for number, fields in enumerate(event.fields.objects("ideas"))
    ]


def variants_of(journal, event, position, how, ideas, source):
    """The Variants of an event 'variants'.

    `ideas` finds them by id; `source` is the digest of the variant that these
    were made from, for journals that do not tell a variant's parent.
    """
    result = []
    for number, fields in enumerate(event.fields.objects("variants")):
        language, plan = fields.text("language"), fields.text("plan", None)
        program_digest = fields.digest("program")
        workspace = fields.integer("workspace_bytes")
        problem = fields.text("problem", "")
        program = journal.program(language, program_digest, fields)
        parameters = fields.object("parameters").raw
        idea = ideas.get(fields.text("idea"))
        parent = fields.parent() or source
        if not parent and idea and how == "realise":
            parent = idea.parent
        result.append(
            Variant(
                digest=variant_digest(language, workspace, plan, program, problem),
                idea=idea,
                language=language,
                program=program,
                program_digest=program_digest,
                plan=plan,
                workspace_bytes=workspace,
                parameters=parameters,
                parent=parent,
                problem=problem,
                how=how,
                position=position,
                number=number,
            )
        )
    return result
