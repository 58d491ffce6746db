# ===- test_report_page.py - The HTML page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The page is one file, loads nothing, and runs no text that others wrote."""

import base64
import hashlib
import html.parser
import json
import pathlib
import re

import fastk.report
import pytest
from fastk.report import page
from fastk.report.changes import changes
from fastk.report.search import read_searches
from report_journals import JournalWriter, llm_search, verdict

SCRIPTS = sorted((pathlib.Path(fastk.report.__file__).parent / "page").glob("*.js"))

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "--></style><svg onload=alert(1)>",
    '"><a href="javascript:alert(1)">',
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} `",
    "\u2028\u2029 &lt;script&gt; &amp;",
)


class Parsed(html.parser.HTMLParser):
    """What an HTML parser sees: elements with their attributes, texts of elements."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._open = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open = len(self.elements) - 1

    def handle_data(self, data):
        if self._open is not None:
            self.texts[self._open] = self.texts.get(self._open, "") + data

    def all(self, tag):
        return [
            (attributes, self.texts.get(i, ""))
            for i, (name, attributes) in enumerate(self.elements)
            if name == tag
        ]


def data_of(parsed):
    (text,) = [t for a, t in parsed.all("script") if a.get("id") == "data"]
    return json.loads(text)


def hostile_journal(folder):
    """Every text that others wrote tries to be more than text."""
    everything = "\n".join(HOSTILE)
    w = JournalWriter(
        folder,
        {"machine": everything},
        {
            "name": HOSTILE[0],
            "shapes": HOSTILE[1],
            "floor_seconds": 1e-6,
            "ir": everything,
        },
    )
    ideas = [
        (f"x/{i}{text}", text, text, everything, "") for i, text in enumerate(HOSTILE)
    ]
    w.exchange(
        "ideas",
        everything,
        everything,
        json.dumps([each[2] for each in ideas]),
        model=everything,
        system=everything,
        schema=everything,
    )
    w.ideas("1/0", ideas)
    w.exchange(
        "variant",
        everything,
        everything,
        everything,
        status="failed",
        problem=everything,
        failure=everything,
    )
    for number, idea in enumerate(ideas):
        (digest,) = w.variants(
            f"realise/1/0/{number}",
            [
                {
                    "idea": idea[0],
                    "language": "cuda",
                    "text": f"{everything} {number}",
                    "plan": everything,
                    "parameters": {everything: 1},
                    "problem": everything if number == 3 else "",
                }
            ],
        )
        if number != 3:
            w.evaluate(
                digest,
                verdict(
                    "ok" if number else "wrong",
                    100.0 + number,
                    reason=everything,
                    gpu={"warnings": [everything], "kernels": [{"name": everything}]},
                ),
            )
    return everything


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    llm_search(folder)
    text = page.render(read_searches(folder))
    return text, Parsed(text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    everything = hostile_journal(folder)
    text = page.render(read_searches(folder))
    return text, Parsed(text), everything


def outline(parsed):
    return [(tag, sorted(attributes)) for tag, attributes in parsed.elements]


def test_hostile_texts_make_no_elements(whole, hostile):
    assert outline(hostile[1]) == outline(whole[1])


def test_hostile_texts_are_shown_as_they_are(hostile):
    _, parsed, everything = hostile
    data = data_of(parsed)
    shown = everything.replace("\u2028", "\\u{2028}").replace("\u2029", "\\u{2029}")
    assert shown in data["texts"]
    (search,) = data["searches"]
    assert search["title"] == HOSTILE[0]
    assert search["ideas"][0]["title"] == HOSTILE[0]
    assert search["exchanges"][1]["problem"] == shown


def test_the_data_holds_nothing_that_ends_its_element(hostile):
    text, _, _ = hostile
    begin = text.index('id="data">') + len('id="data">')
    data = text[begin : text.index("</script>", begin)]
    assert not set("<>&\u2028\u2029") & set(data)
    json.loads(data)


def policy_of(parsed):
    (content,) = [
        a["content"]
        for a, _ in parsed.all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    parts = (each.strip().partition(" ") for each in content.split(";"))
    return {name: values.split() for name, _, values in parts}


def test_the_policy_lets_this_script_and_these_styles_in_and_nothing_else(whole):
    text, parsed = whole
    policy = policy_of(parsed)
    assert policy["default-src"] == ["'none'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert policy["img-src"] == ["data:"]
    assert set(policy) <= {
        "default-src",
        "script-src",
        "style-src",
        "img-src",
        "base-uri",
        "form-action",
    }

    def hashed(tag, pattern):
        content = re.search(pattern, text, re.DOTALL)[1]
        digest = hashlib.sha256(content.encode()).digest()
        return [f"'sha256-{base64.b64encode(digest).decode()}'"]

    assert policy["script-src"] == hashed("script", r"<script>(.*?)</script>")
    assert policy["style-src"] == hashed("style", r"<style>(.*?)</style>")
    # The policy comes before what it is about.
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_the_page_names_no_address(whole):
    text, parsed = whole
    for tag, attributes in parsed.elements:
        assert tag not in ("iframe", "object", "embed", "base", "form", "img")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert "style" not in attributes
    assert [a["href"] for a, _ in parsed.all("link")] == ["data:,"]
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|//[a-z0-9-]+\.[a-z]", rest.split('id="data">')[0])
    styles = parsed.all("style")[0][1]
    assert "@import" not in styles and "url(" not in styles


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_have_no_way_from_text_to_code(path):
    text = path.read_text()
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "createContextualFragment",
        "DOMParser",
        "srcdoc",
        "eval(",
        "Function(",
        "setTimeout('",
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "</script",
        "<!--",
    ):
        assert word not in text


def test_every_file_of_the_page_is_in_it(whole):
    text, _ = whole
    for path in (*SCRIPTS, *SCRIPTS[0].parent.glob("*.css")):
        assert path.read_text() in text


def test_the_same_journal_gives_the_same_page(tmp_path):
    llm_search(tmp_path / "a")
    llm_search(tmp_path / "b")
    assert page.render(read_searches(tmp_path / "a")) == page.render(
        read_searches(tmp_path / "b")
    )


def test_without_scripts_there_is_the_text(whole):
    _, parsed = whole
    (plain,) = [text for _, text in parsed.all("pre")]
    assert "Vectorised (half2) shared-memory writes" in plain


# The data.


@pytest.fixture(scope="module")
def search(whole):
    return data_of(whole[1])["searches"][0], data_of(whole[1])["texts"]


def test_from_prompt_to_lowering(search):
    data, texts = search
    winner = data["variants"][data["winner"]]
    idea = data["ideas"][winner["idea"]]
    asked = data["exchanges"][idea["exchange"]]
    assert idea["title"] in texts[asked["reply"]]
    written = data["exchanges"][winner["exchange"]]
    assert texts[winner["program"]] in texts[written["reply"]]
    assert idea["title"] in texts[written["user"]]
    parent = data["variants"][winner["parent"]]
    assert texts[parent["program"]] in texts[written["user"]]
    assert data["variants"][idea["parent"]] is parent
    assert winner["promotion"]["status"] == "ok"
    assert '"launch":"conv"' in texts[winner["plan"]]


def test_changes_lead_from_the_parent_to_the_child(search):
    data, texts = search
    compared = 0
    for variant in data["variants"]:
        if not variant["changes"]:
            continue
        compared += 1
        before = texts[data["variants"][variant["parent"]]["program"]].split("\n")
        after = texts[variant["program"]].split("\n")
        made = []
        for tag, i1, i2, j1, j2 in variant["changes"]:
            made += before[i1:i2] if tag == "=" else after[j1:j2]
        assert made == after
    assert compared >= 6


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc", "a\nx\nc"),
        ("", "a"),
        ("a", ""),
        ("a\nb", "a\nb"),
        ("a\na\na", "a\na"),
        ("\n" * 9, "\n" * 3),
        ("\n".join(map(str, range(5000))), "\n".join(map(str, range(5000, 0, -1)))),
    ],
)
def test_changes_are_complete(before, after):
    a, b = before.split("\n"), after.split("\n")
    at_a = at_b = 0
    made = []
    for tag, i1, i2, j1, j2 in changes(before, after):
        assert (i1, j1) == (at_a, at_b)
        at_a, at_b = i2, j2
        assert tag in "=-+~"
        made += a[i1:i2] if tag == "=" else b[j1:j2]
    assert (at_a, at_b) == (len(a), len(b))
    assert made == b


def test_texts_that_hide_are_spelt_out(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "A\u202eB\x1b[31m", "\ud800", "")])
    (search,) = data_of(Parsed(page.render(read_searches(tmp_path))))["searches"]
    assert search["ideas"][0]["title"] == "A\\u{202e}B\\u{1b}[31m"


def test_numbers_that_scripts_would_round_are_texts(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "A", "Why.", "")])
    (digest,) = w.variants(
        "realise/1/0/0",
        [{"idea": "x/a", "language": "c", "text": "x", "parameters": {"n": 2**63}}],
    )
    w.evaluate(digest, verdict("ok", 90.0, audit={"seed": 2**64 - 1}))
    data = data_of(Parsed(page.render(read_searches(tmp_path))))
    (variant,) = data["searches"][0]["variants"]
    assert variant["parameters"] == [["n", str(2**63)]]
    assert f'"{2**64 - 1}"' in data["texts"][variant["verdict"]["raw"]]


def test_several_searches_are_one_page(tmp_path):
    llm_search(tmp_path / "a")
    JournalWriter(tmp_path / "b", {"key": "ab" * 32})
    data = data_of(Parsed(page.render(read_searches(tmp_path))))
    assert [each["key"][:2] for each in data["searches"]] == ["1f", "ab"]


def test_verdicts_of_other_shapes_are_no_failure(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "A", "Why.", "")])
    shapes = [
        {},
        {"timing": [], "errors": {}, "gpu": 7, "status": 3},
        {"status": "ok", "timing": {"candidate": {"median_ns": "fast"}}, "errors": [1]},
        {"status": "ok", "errors": [{"max_normalized": None, "bound": 0}], "gpu": None},
        {"gpu": {"kernels": [3], "warnings": 4}, "status": "new kind"},
    ]
    digests = w.variants(
        "realise/1/0/0",
        [{"idea": "x/a", "language": "c", "text": f"x{i}"} for i in range(len(shapes))],
    )
    for digest, shape in zip(digests, shapes, strict=True):
        w.evaluate(digest, shape)
    page.render(read_searches(tmp_path))
