# ===- page.py - The HTML page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""One HTML file that needs nothing else: styles, script and data are in it.

What it shows was written by others: programs, ideas, replies. They are in the page
as JSON that cannot end its element, the script makes nodes of text of them, and a
content security policy lets no other script run and nothing be loaded.
"""

import base64
import hashlib
import html
import json
import pathlib

from . import text
from .pagedata import page_data
from .shown import one_line, visible

_FOLDER = pathlib.Path(__file__).parent / "page"
_STYLES = ("base.css", "layout.css", "parts.css", "code.css")
_SCRIPTS = (
    "base.js",
    "format.js",
    "chart.js",
    "tree.js",
    "code.js",
    "exchange.js",
    "verdict.js",
    "details.js",
    "tables.js",
    "main.js",
)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript><main class="plain"><h1>{title}</h1>
<p>The trajectory; chart, programs and prompts need JavaScript.</p>
<pre>{plain}</pre></main></noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def _hash(content):
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _joined(names):
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _embedded(data):
    """JSON that no HTML parser sees anything else in."""
    plain = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for each in "<>&":
        plain = plain.replace(each, f"\\u{ord(each):04x}")
    return plain


def render(searches):
    """The page about `searches`, as text. The same journals give the same page."""
    style = "\n" + _joined(_STYLES)
    script = "\n(() => {\n'use strict';\n" + _joined(_SCRIPTS) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    names = ", ".join(dict.fromkeys(each.title for each in searches))
    return _PAGE.format(
        policy=policy,
        title=html.escape(one_line(f"fastk search: {names}", 120)),
        style=style,
        plain=html.escape(visible("\n".join(map(text.render, searches)))),
        data=_embedded(page_data(searches)),
        script=script,
    )
