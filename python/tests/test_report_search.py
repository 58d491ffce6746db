# ===- test_report_search.py - What a search was -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""From a journal's events to the search: rounds, the best, who came from whom."""

import pytest
from fastk.report import figures
from fastk.report.digests import variant_digest, without_comments
from fastk.report.search import read_searches
from report_journals import JournalWriter, cuda, kernel, llm_search, plan, verdict


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    names = llm_search(folder)
    (search,) = read_searches(folder)
    return search, {name: search.by_digest(digest) for name, digest in names.items()}


def program(idea, text, **fields):
    return {"idea": idea, "language": "c", "text": text, **fields}


def host(folder, floor=0.0, **binding):
    about = {"name": "sum", "shapes": "8xf32", "floor_seconds": floor}
    binding = {"target": "host", "precision": "ieee"} | binding
    return JournalWriter(folder, binding, about)


IDEA = ("x/a", "memory access", "A", "Why it pays.", "")


def test_digests_are_those_of_the_journal(whole):
    search, v = whole
    assert v["plain"].verdict and v["plain"].plan
    assert {each.digest for each in search.trials} <= {
        each.digest for each in search.variants
    }


def test_a_digest_is_of_all_that_counts():
    digests = {
        variant_digest("c", 0, None, b"x"),
        variant_digest("cuda", 0, None, b"x"),
        variant_digest("c", 1, None, b"x"),
        variant_digest("c", 0, "{}", b"x"),
        variant_digest("c", 0, None, b"x", "unreadable"),
    }
    assert len(digests) == 5


def test_what_the_workload_is(whole):
    search, _ = whole
    assert (search.title, search.target, search.precision) == (
        "conv2d_relu",
        "cuda:sm_90a",
        "half",
    )
    assert search.floor_seconds == 0.000362
    assert search.baseline_seconds == pytest.approx(0.00141)


def test_statuses(whole):
    _, v = whole
    assert {name: each.status for name, each in v.items()} == {
        "plain": "ok",
        "wrong": "wrong",
        "slow": "slow",
        "unreadable": "unreadable",
        "mended": "ok",
        "second": "refused",
        "crash": "crash",
        "tuned": "ok",
        "untried": "slow",  # The same program as another one, which was tried.
        "fast": "ok",
        "best": "ok",
        "swept": "timeout",
    }
    assert v["unreadable"].reason == "the reply has no block of code in ```cuda fences"


def test_repairs_hang_on_what_they_mend(whole):
    _, v = whole
    assert v["wrong"].children == [v["mended"]]
    assert v["unreadable"].children == [v["second"]]
    assert v["second"].children == [v["crash"]]
    assert v["mended"].parent == v["wrong"].digest


def test_only_neighbours_that_were_tried_hang_on_their_start(whole):
    search, v = whole
    assert v["plain"].children == [v["tuned"]]
    untried = [each for each in search.variants if each.parameters == {"TILE": 96}]
    assert [each.status for each in untried] == ["not evaluated"]


def test_duplicates_are_known(whole):
    search, v = whole
    (again,) = [i for i in search.ideas if i.id == "llm/2-tiles"][0].variants
    assert again.status == "duplicate"
    assert again.duplicate_of is v["tuned"]


def test_programs_that_differ_in_comments_alone_are_duplicates(tmp_path):
    w = host(tmp_path)
    w.ideas("1/0", [IDEA])
    first, _ = w.variants(
        "realise/1/0/0",
        [program("x/a", "int x;"), program("x/a", "int  x; // the same\n")],
    )
    w.evaluate(first, verdict("ok", 100.0, 110.0))
    (search,) = read_searches(tmp_path)
    assert [each.status for each in search.variants] == ["ok", "duplicate"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (b"a  /* x */ b // c", b"a b"),
        (b"a\n\n  #b", b"a\n#b"),
        (b'"/* \\" */" x', b'"/* \\" */" x'),
        (b"a /* open", b"a"),
        (b"a / b", b"a / b"),
        (b"'\"' // x\n y", b"'\"'\ny"),
        (b'"open\n// c\nx', b'"open\n\nx'),
    ],
)
def test_comments_are_taken_out_as_the_search_does(text, plain):
    assert without_comments(text) == plain


def test_rounds(whole):
    search, v = whole
    labels = [each.label for each in search.rounds]
    assert labels == ["1", "2", "3", "sweep", "promoted"]
    first, second, third, sweep, promoted = search.rounds
    assert len(first.tried) == 8 and first.unreadable == [v["unreadable"]]
    best = [each.best for each in (first, second, third)]
    assert best == [v["tuned"], v["fast"], v["best"]]
    assert sweep.tried == [v["swept"]] and sweep.best is None
    assert promoted.promotions == 1
    assert sum(each.seconds for each in search.rounds) == pytest.approx(search.elapsed)


def test_who_led_when(whole):
    search, v = whole
    assert [each for each in search.trials if each.was_best] == [
        v["plain"],
        v["tuned"],
        v["fast"],
        v["best"],
    ]
    assert search.best is search.winner is v["best"]
    assert figures.found_in(search) == "3"


def test_the_trajectory(whole):
    search, v = whole
    rows = figures.trajectory(search)
    assert [(r.label, r.variant, r.tried) for r in rows] == [
        ("0", None, 0),
        ("1", v["tuned"], 9),
        ("2", v["fast"], 1),
        ("3", v["best"], 2),
        ("sweep", None, 1),
        ("promoted", v["best"], 1),
    ]
    assert rows[3].speedup == pytest.approx(1410 / 795)
    assert figures.share_of_floor(search, rows[5].seconds) == pytest.approx(362 / 801)


def test_validity_leaves_out_what_is_nobodys_fault(tmp_path):
    w = host(tmp_path)
    w.ideas("1/0", [IDEA])
    digests = w.variants(
        "realise/1/0/0", [program("x/a", f"int x{i};") for i in range(4)]
    )
    for digest, status in zip(digests, ["ok", "slow", "error", "wrong"], strict=True):
        w.evaluate(digest, verdict(status, 90.0 if status == "ok" else None))
    (search,) = read_searches(tmp_path)
    valid = figures.validity(search.trials, [])
    assert (valid.valid, valid.judged) == (2, 3)


def test_costs(whole):
    search, _ = whole
    total = figures.cost(search.exchanges)
    assert total.exchanges == 16 and total.unpriced == 1 and total.is_estimated
    assert total.usd == pytest.approx(0.45)
    by_round = [figures.cost(each.exchanges) for each in search.rounds]
    assert [each.exchanges for each in by_round] == [9, 4, 3, 0, 0]
    assert sum(each.input_tokens for each in by_round) == total.input_tokens


def test_failures_are_counted_by_kind(whole):
    search, v = whole
    kinds = {each.status: each for each in figures.failures(search)}
    assert set(kinds) == {
        "wrong",
        "refused",
        "crash",
        "memory",
        "timeout",
        "unreadable",
        "reply refused",
        "reply truncated",
        "reply without ideas",
    }
    assert kinds["crash"].variants == [v["crash"]]
    assert list(kinds["crash"].reasons) == ["an illegal address at # in kernel conv"]
    assert [e.name for e in kinds["reply refused"].exchanges] == [
        "1f3a9c0b-round-1-idea-1-sample-1"
    ]


def test_reasons_that_differ_in_numbers_are_one(tmp_path):
    w = host(tmp_path)
    w.ideas("1/0", [IDEA])
    digests = w.variants(
        "realise/1/0/0", [program("x/a", f"int x{i};") for i in range(2)]
    )
    w.evaluate(digests[0], verdict("wrong", reason="error 0.31 at 1,024\nand more"))
    w.evaluate(digests[1], verdict("wrong", reason="error 3e-7 at 0x7f"))
    (search,) = read_searches(tmp_path)
    (kind,) = figures.failures(search)
    assert kind.reasons == {"error # at #": 2}


# The winner.


def promoted(folder, binding=None, **changes):
    w = host(folder, **(binding or {}))
    w.ideas("1/0", [IDEA])
    (digest,) = w.variants("realise/1/0/0", [program("x/a", "int x;")])
    w.evaluate(digest, verdict("ok", 90.0, 100.0, precision="ieee"))
    found = verdict("ok", 90.0, 100.0) | {"precision": "ieee"} | changes
    w.promote(digest, found)
    (search,) = read_searches(folder)
    return search


def test_a_winner(tmp_path):
    search = promoted(tmp_path)
    assert search.winner is search.trials[0]
    assert "1.11x (1.11 to 1.12) the default lowering" in figures.standing(search)


def test_the_winners_row_says_what_was_measured_in_pairs(tmp_path):
    timing = verdict("ok", 90.0, 100.0)["timing"]
    timing["baseline"] = dict(timing["baseline"], median_ns=80e3)
    (*_, row) = figures.trajectory(promoted(tmp_path, timing=timing))
    assert row.speedup == pytest.approx(100 / 90)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "wrong", "reason": "so"}, "wrong: so"),
        ({"precision": "tf32"}, "its precision did not hold"),
        ({"timing": {}}, "without times"),
        ({"timing": verdict("ok", 99.0, 100.0)["timing"]}, "102.0% is needed"),
        (
            {
                "timing": verdict("ok", 90.0, 100.0)["timing"]
                | {"aa_ratio": {"median": 1.1, "low": 1.05, "high": 1.2}}
            },
            "too noisy",
        ),
        (
            {
                "timing": verdict("ok", 90.0, 100.0)["timing"]
                | {"aa_ratio": {"median": 1.0, "low": 0.7, "high": 1.3}}
            },
            "too noisy",
        ),
        (
            {
                "timing": verdict("ok", 50.0, 100.0)["timing"]
                | {"speedup_over_baseline": {"median": 2, "low": 1.5, "high": 4}}
            },
            "its gain is known to",
        ),
        (
            {
                "timing": verdict("ok", 50.0, 100.0)["timing"]
                | {"speedup_over_baseline": {"median": 9, "low": 8.9, "high": 9.1}}
            },
            "its fast calls gained 2 times",
        ),
        (
            {"timing": {"too_busy": True, "disturbed_by": "load average 4"}},
            "the machine is too busy: load average 4",
        ),
    ],
)
def test_what_makes_no_winner(tmp_path, changes, why):
    search = promoted(tmp_path, **changes)
    assert search.winner is None
    assert search.best is search.trials[0]
    ((_, told),) = search.failed_promotions
    assert why in told
    assert figures.standing(search).startswith("no winner: 'A' failed its second")


def test_bits_that_repeat_may_be_required(tmp_path):
    required = {"deterministic": "required"}
    for bits in (None, False, True):
        audit = {} if bits is None else {"bitwise_deterministic": bits}
        folder = tmp_path / str(bits)
        search = promoted(folder, required, audit=audit)
        assert (search.winner is not None) == (bits is True)
        if not search.winner:
            ((_, told),) = search.failed_promotions
            assert "same bits each time" in told
        assert promoted(folder / "any", audit=audit).winner


# Which reply it came from.


def test_ideas_know_their_exchange(whole):
    search, _ = whole
    assert [idea.exchange.name for idea in search.ideas] == [
        "1f3a9c0b-round-1-ideas",
        "1f3a9c0b-round-1-ideas",
        "1f3a9c0b-round-1-ideas",
        "1f3a9c0b-round-2-ideas",
        "1f3a9c0b-round-2-ideas",
        "1f3a9c0b-round-3-ideas-again",
    ]


def test_variants_know_their_exchange(whole):
    _, v = whole
    assert {
        name: each.exchange and each.exchange.name.removeprefix("1f3a9c0b-round-")
        for name, each in v.items()
    } == {
        "plain": "1-idea-0-sample-0",
        "wrong": "1-idea-0-sample-1",
        "slow": "1-idea-1-sample-0",
        "unreadable": "1-idea-2-sample-0",
        "mended": "1-repair-0",
        "second": "1-repair-1",
        "crash": "1-repair-2",
        "tuned": None,
        "untried": "1-idea-1-sample-0",
        "fast": "2-idea-0-sample-0",
        "best": "3-idea-0-sample-0",
        "swept": None,
    }


def test_a_truncated_reply_is_not_taken_for_the_whole_one(whole):
    search, v = whole
    cut = next(e for e in search.exchanges if e.status == "truncated")
    assert v["fast"].exchange.status == "complete"
    assert cut.variants == [] and cut.about is v["fast"].idea


def test_titles_that_were_shortened(tmp_path):
    w = JournalWriter(tmp_path)
    w.exchange("ideas", "k-round-1-ideas", "Give ideas.", '{"title": "A long\\ttitle"}')
    w.ideas("1/0", [("x/a", "memory access", "A long title", "Why.", "")])
    (search,) = read_searches(tmp_path)
    assert search.ideas[0].exchange is search.exchanges[0]


def test_programs_to_which_lines_were_added(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [IDEA])
    w.exchange(
        "variant", "k-round-1-a-sample-1", "Why it pays.", f"```cuda\r\n{kernel()}```"
    )
    longer = kernel() + "// fastk-plan: {}\n"
    w.variants("realise/1/0/0", [program("x/a", longer, language="cuda")])
    (search,) = read_searches(tmp_path)
    assert search.variants[0].exchange is search.exchanges[0]


def test_nothing_is_connected_that_has_nothing_in_common(tmp_path):
    w = JournalWriter(tmp_path)
    w.exchange("variant", "k-round-1-b", "Another idea.", "```cuda\nint y;\n```")
    w.ideas("1/0", [IDEA])
    w.variants("realise/1/0/0", [program("x/a", "int x;")])
    (search,) = read_searches(tmp_path)
    assert search.variants[0].exchange is None


def test_a_repair_is_known_by_the_digest_in_its_prompts_name(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [IDEA])
    (digest,) = w.variants("realise/1/0/0", [program("x/a", "int x;")])
    w.evaluate(digest, verdict("refused", reason="no"))
    w.exchange("repair", f"k-round-1-repair-{digest[:12]}", "Mend it.", "No.")
    w.variants(
        f"repair/{digest}",
        [program("x/a", "No.", problem="no code", parent=digest)],
    )
    (search,) = read_searches(tmp_path)
    assert search.variants[1].exchange is search.exchanges[0]


# Searches that are not like the others.


def test_a_search_that_has_only_begun(tmp_path):
    JournalWriter(tmp_path)
    (search,) = read_searches(tmp_path)
    assert search.rounds == [] and search.best is None
    assert "nothing has been evaluated yet" in figures.standing(search)


def test_a_pending_search(tmp_path):
    w = JournalWriter(tmp_path, {"worker": "answers a spool"})
    w.ideas("1/0", [IDEA])
    w.variants("realise/1/0/0", [program("x/a", "int x;"), program("x/a", "int y;")])
    (search,) = read_searches(tmp_path)
    assert [each.status for each in search.variants] == ["not evaluated"] * 2
    assert [len(each.ideas) for each in search.rounds] == [1]


def test_prompts_that_are_not_answered_yet(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [IDEA])
    (search,) = read_searches(tmp_path)
    assert search.ideas[0].variants is None


def test_in_a_batch_all_had_the_best_from_before_it(tmp_path):
    w = host(tmp_path, worker="answers a spool")
    w.ideas("1/0", [IDEA])
    a, b, c = w.variants(
        "realise/1/0/0", [program("x/a", f"int x{i};") for i in range(3)]
    )
    w.evaluate(a, verdict("ok", 90.0, 100.0))
    # Both beat the incumbent of the batch, but c is slower than b.
    w.ideas("2/0", [("x/b", "memory access", "B", "Why.", "")])
    w.evaluate(b, verdict("ok", 50.0, 100.0, over_best=1.8))
    w.evaluate(c, verdict("ok", 60.0, 100.0, over_best=1.5))
    (search,) = read_searches(tmp_path)
    assert search.best.digest == b


def test_a_winner_of_the_bank_that_the_search_began_with(tmp_path):
    w = host(tmp_path)
    w.evaluate("ab" * 32, verdict("ok", 80.0, 100.0))
    w.ideas("1/0", [IDEA])
    (search,) = read_searches(tmp_path)
    (seed,) = search.trials
    assert (seed.how, seed.program, seed.round) == ("seed", None, "1")
    assert figures.trajectory(search)[1].variant is seed


def test_what_banks_knew_is_no_idea_of_the_search(tmp_path):
    w = host(tmp_path)
    w.ideas("bank", [("bank/1", "memory access", "Known", "It won.", "")])
    w.ideas("1/0", [IDEA])
    (search,) = read_searches(tmp_path)
    assert [each.title for each in search.ideas] == ["A"]
    assert [each.title for each in search.known] == ["Known"]


def test_journals_of_before_there_were_parents(tmp_path):
    w = JournalWriter(tmp_path, about=None)
    w.event(
        "ideas",
        "1/0",
        ideas=[dict(zip(("id", "category", "title", "text"), IDEA, strict=False))],
    )
    (digest,) = w.variants("realise/1/0/0", [program("x/a", "int x;")])
    w.evaluate(digest, verdict("ok", 90.0))
    old = {
        "idea": "x/a",
        "language": "c",
        "program": w.text("int y;"),
        "workspace_bytes": 0,
        "parameters": {"n": 2},
    }
    (tmp_path / "programs" / f"{old['program']}.c").write_text("int y;")
    w.event("variants", f"neighbours/{digest}/0", variants=[old])
    (search,) = read_searches(tmp_path)
    assert search.variants[1].parent == digest
    assert search.floor_seconds == 0 and search.title == "workload 1f3a9c0b"


# The sweep after the last round, and the one at the end.


def swept(folder, *, chain, end=None, floor=0.0):
    """The rounds of one start, its sweep (`chain` are speed-ups), and what follows."""
    w = host(folder, floor)
    w.ideas("1/0", [IDEA])
    (start,) = w.variants("realise/1/0/0", [program("x/a", "int s;")])
    w.evaluate(start, verdict("ok", 100.0, 100.0))
    around = start
    for i, speedup in enumerate(chain):
        (step,) = w.variants(
            f"neighbours/{around}/0", [program("x/a", f"int c{i};")]
        )
        w.evaluate(step, verdict("ok", 100.0 / speedup, 100.0, over_best=1.2))
        around = step
    if end is not None:
        name = f"neighbours/{around}/{1 if end == 'again' else 0}"
        (step,) = w.variants(name, [program("x/a", "int e;")])
        w.evaluate(step, verdict("ok", 200.0, 100.0))
    (search,) = read_searches(folder)
    return [each.round for each in search.trials]


def test_a_climb_is_of_the_round(tmp_path):
    assert swept(tmp_path, chain=[1.1, 1.2, 1.3]) == ["1"] * 4


def test_a_climb_ends_where_nothing_is_gained(tmp_path):
    assert swept(tmp_path, chain=[1.1, 1.0], end="again")[-1] == "sweep"


def test_a_climb_ends_after_eight(tmp_path):
    rounds = swept(tmp_path, chain=[1 + i / 10 for i in range(1, 9)], end="again")
    assert rounds == ["1"] * 9 + ["sweep"]


def test_a_climb_ends_at_the_floor(tmp_path):
    assert swept(tmp_path, chain=[1.1, 1.2], floor=86.5e-6) == ["1", "1", "sweep"]


def test_a_sequential_search_sweeps_at_the_end_alone(tmp_path):
    w = host(tmp_path, strategy="sequential")
    w.ideas("1/0", [IDEA])
    (start,) = w.variants("realise/1/0", [program("x/a", "int s;")])
    w.evaluate(start, verdict("ok", 100.0, 100.0))
    (step,) = w.variants(f"neighbours/{start}/0", [program("x/a", "int c;")])
    w.evaluate(step, verdict("ok", 90.0, 100.0))
    (search,) = read_searches(tmp_path)
    assert [each.round for each in search.trials] == ["1", "sweep"]


def test_a_second_measurement_before_more_is_tried(tmp_path):
    w = JournalWriter(tmp_path)
    idea = ("llm/1-rows", "memory access", "Rows", "Along contiguous memory.", "")
    w.ideas("1/0", [idea])
    a, b = w.variants(
        "realise/1/0/0",
        [cuda(idea[0], kernel(tile), plan(tile)) for tile in (64, 32)],
    )
    w.evaluate(a, verdict("ok", 900.0))
    w.promote(a, verdict("ok", 905.0))
    assert read_searches(tmp_path)[0].winner.digest == a
    w.evaluate(b, verdict("ok", 600.0, over_best=1.5))
    (search,) = read_searches(tmp_path)
    assert (search.winner.digest, search.best.digest) == (a, b)
    w.promote(b, verdict("ok", 601.0))
    assert read_searches(tmp_path)[0].winner.digest == b
