# ===- test_report_journal.py - Reading journals -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Journals are read whole and strictly: what is damaged is named by file and line."""

import json
import zlib

import pytest
from fastk.report.errors import ReportError
from fastk.report.journal import Journal, find_journals
from fastk.report.search import read_searches
from report_journals import JournalWriter, line_of, llm_search, sha


def failure(folder):
    with pytest.raises(ReportError) as raised:
        read_searches(folder)
    return str(raised.value)


def edit(path, number, change):
    """Changes one line (counted from 1) of a file."""
    lines = path.read_text().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_text("".join(lines))


@pytest.fixture
def journal(tmp_path):
    llm_search(tmp_path / "j")
    return tmp_path / "j"


def test_every_event_is_read(journal):
    read = Journal(journal)
    lines = (journal / "journal.jsonl").read_text().splitlines()
    assert len(read.events) == len(lines) - 1
    assert read.binding["target"] == "cuda:sm_90a"
    assert read.notes == []


def test_a_changed_line_is_named(journal):
    path = journal / "journal.jsonl"
    edit(path, 5, lambda line: line.replace('"elapsed":', '"elapsed": '))
    text = failure(journal)
    assert text.startswith(f"{path}:5: error: the line was changed or damaged")
    assert "keep only the 4 lines before it" in text


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_cut_last_line_is_left_out(journal, cut):
    path = journal / "journal.jsonl"
    before = len(Journal(journal).events)
    path.write_bytes(path.read_bytes()[:-cut])
    read = Journal(journal)
    assert len(read.events) == before - 1
    (note,) = read.notes
    assert f"{path}:{before + 1}: the last line is not whole" in note
    read_searches(journal)


def test_bytes_that_are_no_text(journal):
    path = journal / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"check":"\xff\xfe\n')
    assert "is not whole" in Journal(journal).notes[0]


def test_a_missing_program_is_named_with_its_line(journal):
    victim = next((journal / "programs").glob("*.cu"))
    victim.unlink()
    text = failure(journal)
    assert f"{journal / 'journal.jsonl'}:" in text
    assert str(victim) in text


def test_a_changed_program_is_named(journal):
    victim = next((journal / "programs").glob("*.cu"))
    victim.write_text(victim.read_text() + " ")
    assert f"{victim}: error: was changed" in failure(journal)


def test_a_changed_reply_is_named(journal):
    victim = next((journal / "texts").glob("*.md"))
    victim.write_text(victim.read_text() + " ")
    assert f"{victim}: error: was changed" in failure(journal)


def test_an_event_without_a_field(tmp_path):
    w = JournalWriter(tmp_path)
    w.append({"type": "ideas", "name": "1/0", "elapsed": 1.0})
    text = failure(tmp_path)
    assert f"{w.path}:2: error: the event 'ideas' '1/0': has no field 'ideas'" in text


def test_a_field_of_another_type(tmp_path):
    w = JournalWriter(tmp_path)
    w.append({"type": "ideas", "name": "1/0", "elapsed": True, "ideas": []})
    assert ":2: error: the event 'ideas' '1/0': its field 'elapsed' is no number" in (
        failure(tmp_path)
    )


def test_numbers_that_json_does_not_have(tmp_path):
    w = JournalWriter(tmp_path)
    w.append({"type": "ideas", "name": "1/0", "elapsed": float("nan"), "ideas": []})
    assert ":2: error: not JSON: NaN is no number" in failure(tmp_path)


def test_nesting_without_end(tmp_path):
    w = JournalWriter(tmp_path)
    deep = "[" * 100_000 + "]" * 100_000
    body = f'{{"type":"ideas","x":{deep}}}'
    with w.path.open("a") as stream:
        stream.write(f'{{"check":"{zlib.crc32(body.encode()):08x}","event":{body}}}\n')
    assert ":2: error: not JSON" in failure(tmp_path)


def test_an_event_that_is_there_twice(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [])
    w.ideas("1/0", [])
    assert ":3: error: the event 'ideas' '1/0': is recorded a second time" in (
        failure(tmp_path)
    )


def test_a_digest_that_is_a_path(tmp_path):
    w = JournalWriter(tmp_path)
    w.event(
        "variants",
        "realise/1/0/0",
        variants=[
            {
                "idea": "x",
                "language": "c",
                "program": "../../../etc/passwd",
                "workspace_bytes": 0,
                "parameters": {},
            }
        ],
    )
    assert "its field 'program' is no SHA-256 in hex" in failure(tmp_path)


@pytest.mark.parametrize(
    "parent, is_right",
    [("family:contraction-wgmma", True), ("", True), ("families", False)],
)
def test_what_an_idea_builds_on(tmp_path, parent, is_right):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x", "memory access", "Rows", "Rows in registers.", parent)])
    if is_right:
        (search,) = read_searches(tmp_path)
        assert [idea.parent for idea in search.ideas] == [parent]
    else:
        assert "its field 'parent' is no SHA-256 in hex" in failure(tmp_path)


def test_an_idea_that_nobody_had(tmp_path):
    w = JournalWriter(tmp_path)
    w.variants("realise/1/0/7", [{"idea": "x", "language": "c", "text": "int x;"}])
    assert "realises an idea that nobody had" in failure(tmp_path)


def test_names_that_mean_nothing(tmp_path):
    w = JournalWriter(tmp_path)
    w.event("evaluation", "judge/1", verdict={})
    assert "its name is none of evaluate, promote" in failure(tmp_path)


def test_a_later_format(tmp_path):
    w = JournalWriter(tmp_path)
    w.path.write_text(line_of({"type": "header", "format": 2, "binding": []}))
    assert f"{w.path}:1: error: has format 2, this report reads format 1" in (
        failure(tmp_path)
    )


def test_a_journal_without_its_header(tmp_path):
    w = JournalWriter(tmp_path)
    w.path.write_text("")
    w.ideas("1/0", [])
    assert ":1: error: a journal begins with its header" in failure(tmp_path)


def test_events_of_an_unknown_type_are_left_out(journal):
    w_path = journal / "journal.jsonl"
    with w_path.open("a") as stream:
        stream.write(line_of({"type": "weather", "name": "x", "elapsed": 1.0}))
    assert any("unknown type 'weather'" in note for note in Journal(journal).notes)


def test_what_is_to_be_made_again_is_no_event_of_the_report(journal):
    events = len(Journal(journal).events)
    event = {"type": "unjudged", "name": "unjudged", "elapsed": 1.0}
    with (journal / "journal.jsonl").open("a") as stream:
        for name in ("evaluate/1", "evaluate/2"):
            stream.write(line_of(event | {"unjudged": [name]}))
    assert len(Journal(journal).events) == events
    assert not Journal(journal).notes


def test_earlier_journals_are_mentioned(journal):
    (journal / "journal.1.jsonl").write_text("old")
    assert "1 earlier journal " in Journal(journal).notes[0]


# What JOURNAL may be.


def test_a_folder_of_several(tmp_path):
    for name in ("b", "a"):
        JournalWriter(tmp_path / name)
    (tmp_path / "c").mkdir()
    assert [each.name for each in find_journals(tmp_path)] == ["a", "b"]


def test_the_file_itself(journal):
    assert find_journals(journal / "journal.jsonl") == [journal]


def test_one_that_has_not_begun_is_no_reason_to_show_no_other(tmp_path):
    llm_search(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "journal.jsonl").write_text("")
    assert len(read_searches(tmp_path)) == 1


def test_none_has_begun(tmp_path):
    (tmp_path / "journal.jsonl").write_text("")
    assert "holds no event: the search has not begun" in failure(tmp_path)


def test_nothing_is_there(tmp_path):
    assert "does not exist" in failure(tmp_path / "x")
    assert "holds no journal" in failure(tmp_path)


def test_another_file(tmp_path):
    (tmp_path / "x.txt").write_text("x")
    assert "is no journal" in failure(tmp_path / "x.txt")


def test_a_cassette_is_told_apart(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"type": "header", "format": 1}) + "\n")
    text = failure(path)
    assert "is a cassette" in text
    assert f"--proposer=replay:{path}" in text


def test_programs_are_read_by_their_digest(journal):
    (search,) = read_searches(journal)
    for variant in search.variants:
        assert sha(variant.program) == variant.program_digest


def test_what_a_search_begins_with_is_no_event_of_its_own(journal):
    before = len(Journal(journal).events)
    with (journal / "journal.jsonl").open("a") as stream:
        for kind, name in [
            ("device", "device"),
            ("variants", "seeds"),
            ("ideas", "seeds"),
        ]:
            stream.write(line_of({"type": kind, "name": name, "elapsed": 1.0}))
    read = Journal(journal)
    assert len(read.events) == before and not read.notes
