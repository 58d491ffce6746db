# ===- test_site.py - The site of docs/ -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every page is built, every link leads somewhere, and a reader needs no network."""

import html.parser
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT


def build(root, folder):
    return subprocess.run(
        [root / "scripts" / "build-site.sh", folder],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    result = build(ROOT, folder)
    assert result.returncode == 0, result.stdout
    return folder / "html"


class Loads(html.parser.HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif "src" in attributes:
            self.loads.append(attributes["src"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon"):
            self.loads.append(attributes["href"])


def test_a_reader_needs_no_network(site):
    for page in site.rglob("*.html"):
        for loaded in Loads(page.read_text(encoding="utf-8")).loads:
            assert "//" not in loaded, f"{page} loads {loaded}"
            path = page.parent / loaded.partition("?")[0]
            assert path.is_file(), f"{page} loads {loaded}, which is not there"
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert "url(http" not in text and "@import" not in text, style


def test_links_lead_to_pages_and_files(site):
    """Those in the theme's templates, too, which Sphinx does not check."""
    for page in site.rglob("*.html"):
        for link in Loads(page.read_text(encoding="utf-8")).links:
            path = link.partition("#")[0].partition("?")[0]
            if path and "://" not in path:
                assert (page.parent / path).exists(), f"{page}: {link}"


def test_the_first_page_has_four_doors(site):
    assert "url=docs/index.html" in (site / "index.html").read_text(encoding="utf-8")
    text = (site / "docs" / "index.html").read_text(encoding="utf-8")
    for door in ("use-pytorch", "write-kernels", "work-on-compilers", "run-a-fleet"):
        assert f'<section id="you-{door}">' in text


def test_notebooks_are_pages(site):
    page = site / "docs" / "notebooks" / "read-a-search.html"
    text = page.read_text(encoding="utf-8")
    assert "read_searches" in text and 'href="../report.html"' in text
    download = next(link for link in Loads(text).links if link.endswith(".ipynb"))
    assert json.loads((page.parent / download).read_text(encoding="utf-8"))["cells"]


def test_outputs_of_the_last_run(checkout, tmp_path):
    notebook = json.loads(
        (ROOT / "docs" / "notebooks" / "compile.ipynb").read_text(encoding="utf-8")
    )
    cells = [{"cell_type": "markdown", "source": "# One"}, notebook["cells"][1]]
    (checkout / "docs" / "a.ipynb").write_text(json.dumps({"cells": cells}))
    (checkout / "docs" / "a.md").unlink()
    navigation = checkout / "docs" / "site" / "navigation.toml"
    navigation.write_text(navigation.read_text().replace("a.md", "a.ipynb"))
    (checkout / "docs" / "index.md").write_text("# First\n\n[a](a.ipynb)\n")
    ran = checkout / "build" / "notebooks"
    ran.mkdir(parents=True)
    page = tmp_path / "site" / "html" / "docs" / "a.html"

    def built(source):
        said = {"output_type": "stream", "name": "stdout", "text": ["said by\n", "it"]}
        cell = {"cell_type": "code", "source": source, "outputs": [said]}
        (ran / "a.ipynb").write_text(json.dumps({"cells": [cells[0], cell]}))
        result = build(checkout, tmp_path / "site")
        assert result.returncode == 0, result.stdout
        return page.read_text(encoding="utf-8")

    assert "said by\nit" in built(cells[1]["source"])
    assert "said by" not in built("another = 1")


def test_search_finds_every_page(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= {f"{name}.md" for name in found["docnames"]}
    assert len(found["terms"]["winner"]) > 10


@pytest.fixture
def checkout(tmp_path):
    """A checkout with two pages, for what must fail."""
    root = tmp_path / "checkout"
    (root / "docs").mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "site", root / "docs" / "site")
    (root / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "build-site.sh", root / "scripts")
    os.symlink(pathlib.Path(ROOT / ".venv"), root / ".venv")
    (root / "docs" / "site" / "navigation.toml").write_text(
        'below = {}\ntitles = {}\nnames = {}\n[[section]]\ntitle = "All"\n'
        'pages = ["docs/a.md"]\n'
    )
    (root / "docs" / "index.md").write_text("# First\n\n[a](a.md#here)\n")
    (root / "docs" / "a.md").write_text("# A\n\n## Here\n\n[folder](../scripts)\n")
    return root


def test_two_pages(checkout, tmp_path):
    result = build(checkout, tmp_path / "site")
    assert result.returncode == 0, result.stdout
    text = (tmp_path / "site" / "html" / "docs" / "a.html").read_text()
    assert ">scripts</span></code> in the checkout" in text


@pytest.mark.parametrize(
    "text, said",
    [
        ("[a](a.md#there)", "'there'"),
        ("[a](none.md)", "none.md"),
        ("[a](../scripts/none.sh)", "none.sh"),
        ("![a](none.svg)", "none.svg"),
    ],
)
def test_a_broken_link(checkout, tmp_path, text, said):
    (checkout / "docs" / "a.md").write_text(f"# A\n\n{text}\n\n## Here\n")
    result = build(checkout, tmp_path / "site")
    assert result.returncode == 1
    assert "docs/a.md:3: WARNING" in result.stdout and said in result.stdout
    assert "build-site: the pages named above are wrong" in result.stdout
    assert not (tmp_path / "site").exists()


def test_a_page_that_the_navigation_leaves_out(checkout, tmp_path):
    (checkout / "docs" / "more.md").write_text("# More\n")
    result = build(checkout, tmp_path / "site")
    assert result.returncode == 1
    assert "docs/more.md: WARNING: document isn't included in any toctree" in result.stdout
