# ===- test_report_failures.py - Language models that fail -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What a language model says when it fails is in the text and on the page."""

import json
import re

from fastk.report import figures, page, text
from fastk.report.search import read_searches
from report_journals import JournalWriter, cuda, ideas_reply, kernel, plan, verdict

IDEA = ("llm/1-rows", "memory access", "Rows", "Along contiguous memory.", "")
ASK = "Give an idea.\n"


def data_of(search):
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>',
        page.render([search]),
        re.DOTALL,
    )
    return json.loads(found[1])["searches"][0]


def test_a_command_that_ends_with_a_message(tmp_path):
    w = JournalWriter(tmp_path)
    w.exchange(
        "ideas",
        "1f3a9c0b-round-1-ideas",
        ASK,
        "",
        status="failed",
        failure="malformed",
        problem="the command ended with exit status 1; it said: no credit is left",
    )
    (search,) = read_searches(tmp_path)
    shown = text.render(search)
    assert "1 reply failed: the command ended with exit status #; it said: no" in shown
    assert "no winner: openai:gpt-x has not answered: the command ended" in shown
    (failure,) = data_of(search)["failures"]
    assert failure["status"] == "reply failed"
    assert "no credit is left" in failure["reasons"][0][0]


def test_a_reply_of_which_nothing_could_be_made(tmp_path):
    w = JournalWriter(tmp_path)
    w.exchange("ideas", "round-1-ideas", ASK, "I would rather not.")
    w.exchange(
        "ideas",
        "round-1-ideas",
        ASK,
        "I would rather not.",
        status="unreadable",
        problem="there is no JSON object in it",
    )
    (search,) = read_searches(tmp_path)
    (exchange,) = search.exchanges
    assert (exchange.status, exchange.reply) == ("unreadable", b"I would rather not.")
    assert figures.cost(search.exchanges).exchanges == 1
    assert "reply unreadable: there is no JSON object in it" in text.render(search)
    assert data_of(search)["exchanges"][0]["problem"] == "there is no JSON object in it"


def test_what_failed_and_was_asked_again(tmp_path):
    w = JournalWriter(tmp_path)
    first, second = kernel(64), kernel(32)
    w.exchange("ideas", "round-1-ideas", ASK, "", status="failed", problem="no")
    w.ideas("1/0", [])
    w.exchange("ideas", "round-1-ideas", ASK, ideas_reply([IDEA]))
    w.ideas("1/0", [IDEA])
    (a,) = w.variants("realise/1/0/0", [cuda(IDEA[0], first, plan(64))])
    w.evaluate(a, verdict("ok", 900.0))
    _, b = w.variants(
        "realise/1/0/0",
        [cuda(IDEA[0], first, plan(64)), cuda(IDEA[0], second, plan(32))],
    )
    w.evaluate(b, verdict("ok", 800.0, over_best=1.12))
    (search,) = read_searches(tmp_path)
    assert [each.digest for each in search.variants] == [a, b]
    assert [each.digest for each in search.ideas[0].variants] == [a, b]
    assert [each.duplicate_of for each in search.variants] == [None, None]
    assert [each.status for each in search.exchanges] == ["failed", "complete"]
    assert search.best.digest == b
    assert "1 reply failed: no" in text.render(search)
    assert page.render([search])


def test_an_evaluation_that_was_made_again(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [IDEA])
    (a,) = w.variants("realise/1/0/0", [cuda(IDEA[0], kernel(64), plan(64))])
    w.evaluate(a, verdict("error", reason="the GPU is lost"))
    w.evaluate(a, verdict("ok", 900.0))
    (search,) = read_searches(tmp_path)
    (variant,) = search.variants
    assert variant.verdict.status == "ok"
    assert "the GPU is lost" not in text.render(search)


def test_programs_that_came_behind_the_last_round(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [IDEA])
    (a,) = w.variants("realise/1/0/0", [cuda(IDEA[0], kernel(64), plan(64))])
    w.evaluate(a, verdict("ok", 900.0))
    w.ideas("2/0", [])
    w.ideas("3/0", [IDEA])
    (b,) = w.variants("realise/3/0/0", [cuda(IDEA[0], kernel(32), plan(32))])
    w.evaluate(b, verdict("ok", 800.0, over_best=1.12))
    (search,) = read_searches(tmp_path)
    (idea,) = search.ideas
    assert [each.digest for each in idea.variants] == [a, b]
    assert [each.digest for each in search.variants] == [a, b]
    assert search.best.digest == b
    assert page.render([search])
