# ===- checkout.py - Pages of a checkout as pages of the site -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Gives Sphinx the navigation, headings where a page has none, and links to folders."""

import pathlib
import re
import tomllib

import notebooks

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAVIGATION = tomllib.loads((HERE / "navigation.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"(?<!!)\[(?P<text>[^\][]+)\]\((?P<path>[^)#: ]+)\)")
TOCTREE = "\n```{toctree}\n:hidden:\n%s\n\n%s\n```\n"


def pages():
    """Every page that the navigation names, from the root of the checkout."""
    named = [page for section in NAVIGATION["section"] for page in section["pages"]]
    return named + [page for below in NAVIGATION["below"].values() for page in below]


def is_page(path):
    return path.is_relative_to(ROOT / "docs") and path.is_file() or (
        str(path.relative_to(ROOT)) in pages()
    )


def entry(page):
    name = NAVIGATION["names"].get(page)
    return f"{name} </{page}>" if name else f"/{page}"


def toctree(page_names, caption=""):
    option = f":caption: {caption}" if caption else ""
    return TOCTREE % (option, "\n".join(map(entry, page_names)))


def link_of(page, found):
    """A link to a folder leads to its README; to what the site does not show: its name."""
    target = (page.parent / found["path"]).resolve()
    if not target.exists() or not target.is_relative_to(ROOT):
        return found[0]
    if target.is_dir() and is_page(target / "README.md"):
        return f"[{found['text']}]({found['path'].rstrip('/')}/README.md)"
    if not target.is_dir() and (target.suffix not in (".md", ".ipynb") or is_page(target)):
        return found[0]
    place = f"`{target.relative_to(ROOT)}`"
    text = found["text"]
    return place if text.strip("`") in place else f"{text} ({place} in the checkout)"


def complete(app, name, source):
    """What a page of the checkout has on the site besides its text."""
    page = pathlib.Path(app.env.doc2path(name))
    text = source[0]
    if page.suffix == ".ipynb":
        text = notebooks.markdown(ROOT, page, text)
    text = LINK.sub(lambda found: link_of(page, found), text)
    if title := NAVIGATION["titles"].get(f"{name}.md"):
        text = f"# {title}\n\n" + re.sub(r"^###(?=#* )", "##", text, flags=re.MULTILINE)
    if name == app.config.root_doc:
        for section in NAVIGATION["section"]:
            text += toctree(section["pages"], section["title"])
    if below := NAVIGATION["below"].get(f"{name}.md"):
        text += toctree(below)
    source[0] = text


def setup(app):
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("source-read", complete)
    app.add_config_value("navigation", NAVIGATION, "env")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
