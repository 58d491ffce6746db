#!/usr/bin/env python3
# ===- draw-figures.py - Pictures of measurements -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Draws docs/figures from the tables of docs/benchmarks.

    scripts/draw-figures.py           writes
    scripts/draw-figures.py --check   writes nothing; fails where a picture is stale

A dot is a ratio of times on a logarithmic axis, right of 1 where fastk is faster: that of
a table's row. Either many rows share a line, with their geometric mean, or each has one,
with its interval where the table has it.
"""

import argparse
import dataclasses
import html
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "benchmarks"
FIGURES = ROOT / "docs" / "figures"
#: A ratio, with its interval: 1.31× (1.22–1.40), 1.05 (1.04 to 1.06).
RATIO = re.compile(r"(\d+\.\d+)×?(?: \((\d+\.\d+)(?:–| to )(\d+\.\d+)\))?")


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a page's first table with such a column behind a heading ("": anywhere)."""

    title: str
    page: str
    heading: str = ""
    column: str = "ratio"
    #: Which rows, by their first cell.
    only: str = ""


@dataclasses.dataclass(frozen=True)
class Figure:
    """What is drawn: lines of many rows, or with `each` a line for a row of `sources`."""

    title: str
    axis: str
    sources: tuple
    least: float
    most: float
    ticks: tuple
    each: bool = False
    left: int = 170
    width: int = 430
    right: int = 180

    @property
    def row(self):
        return 24 if self.each else 44


TOP = 34
GOLDEN = (5**0.5 - 1) / 2
TORCH = "torch's best time over ours, log scale; right of 1 ours is faster"
EAGER = "torch's time over ours, log scale; right of 1 ours is faster"
PRODUCTS = "Products of f16 and bf16 alone"
DRAWN = {
    "ratios.svg": Figure(
        "Times of torch's best over those of fastk's families, on an H200",
        TORCH,
        (
            Rows("Products of f16, bf16", "families.md", PRODUCTS),
            Rows("with bias and GELU", "families.md", "With bias and GELU"),
            Rows("Products of f32", "families.md", "Products of f32"),
            Rows("Attention, f16", "attention.md"),
            Rows("Softmax, norms, sums", "reductions.md"),
        ),
        0.6,
        5.0,
        (0.7, 1, 1.5, 2, 3, 5),
    ),
    "attention.svg": Figure(
        "Attention: times of torch's best over those of families, on an H200",
        TORCH,
        (Rows("", "attention.md"),),
        0.9,
        1.6,
        (0.9, 1, 1.1, 1.2, 1.4, 1.6),
        each=True,
        left=260,
        right=70,
    ),
    "kernelbench.svg": Figure(
        "KernelBench by the default lowering: times of torch's best over fastk's, on an H200",
        TORCH,
        tuple(
            Rows(f"Level {level}", "h200-kernelbench.md", "Times", only=f"{level}/")
            for level in (1, 2, 3)
        ),
        0.05,
        30.0,
        (0.1, 0.3, 1, 3, 10, 30),
        left=80,
    ),
    "torch-compile.svg": Figure(
        "Models under torch.compile: times of Inductor over those with fastk, on an H100",
        "Inductor's time over ours, log scale; right of 1 ours is faster",
        (Rows("", "torch-compile.md"),),
        0.9,
        1.25,
        (0.9, 1, 1.1, 1.2),
        each=True,
        left=230,
        right=190,
    ),
    "host.svg": Figure(
        "Operators on a CPU: times of torch over those of fastk",
        EAGER,
        (
            Rows("eager", "host.md", "Speed", "torch eager / fastk"),
            Rows("torch.compile", "host.md", "Speed", "torch.compile / fastk"),
        ),
        0.8,
        3.0,
        (0.8, 1, 1.5, 2, 3),
        each=True,
        left=250,
        right=150,
    ),
    "models.svg": Figure(
        "Whole models on a CPU: times of torch eager over those of fastk",
        EAGER,
        (Rows("", "models.md", "Speed", "torch eager / fastk"),),
        0.7,
        2.0,
        (0.7, 1, 1.5, 2),
        each=True,
        left=110,
        right=150,
    ),
}
STYLE = (
    "<style>svg{background:#fff}text{fill:#222}.axis{stroke:#bbb}.one{stroke:#222}"
    ".win{fill:#1769aa}.loss{fill:#c0392b}.mean{stroke:#222;stroke-width:2}"
    "@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#ddd}"
    ".axis{stroke:#444}.one,.mean{stroke:#ddd}.win{fill:#5aa9e6}.loss{fill:#ff7b6b}}"
    "</style>"
)


def rows_of(rows):
    """[(name, [ratio] or [ratio, low, high], as the page has it)] of what `rows` names."""
    text = (PAGES / rows.page).read_text(encoding="utf-8")
    if rows.heading:
        text = text[text.index(f"## {rows.heading}") :]
    column, found = None, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            if found:
                break
            column = None
        elif column is None:
            column = cells.index(rows.column) if rows.column in cells else None
            second = cells[1:2] == ["mode"]
        elif cells[0].startswith(rows.only) and (match := RATIO.match(cells[column])):
            name = f"{cells[0]}, {cells[1]}" if second else cells[0]
            said = match[0].replace("×", "").replace("–", " to ")
            found.append((name, [float(each) for each in match.groups() if each], said))
    if not found:
        raise SystemExit(
            f"draw-figures: {rows.page} has no table of '{rows.column}' "
            f"behind '{rows.heading}'"
        )
    return found


def ratios_of(rows):
    return [values[0] for _, values, _ in rows_of(rows)]


def summary(ratios):
    mean = statistics.geometric_mean(ratios)
    losses = sum(ratio < 1 for ratio in ratios)
    return f"{mean:.2f}; {losses} of {len(ratios)} below 1"


class Drawing:
    """The lines of a picture's text."""

    def __init__(self, figure, count):
        self.figure = figure
        self.bottom = TOP + figure.row * count
        total, height = figure.left + figure.width + figure.right, self.bottom + 40
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" '
            f'width="{total}" height="{height}" role="img" font-family="sans-serif" '
            'font-size="13">',
            f"<title>{html.escape(figure.title, quote=False)}</title>",
            STYLE,
        ]
        self.text(figure.left, 16, figure.axis)
        for tick in figure.ticks:
            x = self.place(tick)
            self.line("one" if tick == 1 else "axis", x, x, TOP, self.bottom)
            self.text(f"{x:.1f}", self.bottom + 18, f"{tick:g}", "middle")

    def place(self, ratio):
        """Of a ratio on the axis; what is beyond its ends lies at them."""
        least, most = self.figure.least, self.figure.most
        ratio = min(max(ratio, least), most)
        along = math.log(ratio / least) / math.log(most / least)
        return self.figure.left + self.figure.width * along

    def text(self, x, y, text, anchor=""):
        anchor = anchor and f' text-anchor="{anchor}"'
        text = html.escape(text, quote=False)
        self.lines.append(f'<text x="{x}" y="{y}"{anchor}>{text}</text>')

    def line(self, kind, x1, x2, y1, y2):
        self.lines.append(
            f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1}" y2="{y2}"/>'
        )

    def dot(self, ratio, y):
        kind = "win" if ratio >= 1 else "loss"
        self.lines.append(
            f'<circle class="{kind}" cx="{self.place(ratio):.1f}" cy="{y:.1f}" r="3" '
            'fill-opacity="0.75"/>'
        )

    def label(self, middle, title, said):
        self.text(self.figure.left - 10, middle + 4, title, "end")
        self.text(self.figure.left + self.figure.width + 12, middle + 4, said)

    def many(self, middle, title, ratios):
        """A line of many rows."""
        for index, ratio in enumerate(ratios):
            # Apart, so that equal ones are seen: the same at each drawing.
            self.dot(ratio, middle + (index * GOLDEN % 1 - 0.5) * 24)
        x = self.place(statistics.geometric_mean(ratios))
        self.line("mean", x, x, middle - 15, middle + 15)
        self.label(middle, title, summary(ratios))

    def one(self, middle, title, values, said):
        """A line of one row."""
        if len(values) == 3:
            ends = map(self.place, values[1:])
            self.line("mean", *ends, middle, middle)
        self.label(middle, title, said)
        self.dot(values[0], middle)


def lines_of_rows(figure):
    """[(title, values, as the page has it)]: of several columns those of one row stand together."""
    columns = [(rows.title, rows_of(rows)) for rows in figure.sources]
    lines = []
    for row in zip(*(rows for _, rows in columns), strict=True):
        for (title, _), (name, values, said) in zip(columns, row, strict=True):
            lines.append((f"{name}, {title}" if title else name, values, said))
    return lines


def draw(figure):
    if figure.each:
        lines = lines_of_rows(figure)
    else:
        lines = [(rows.title, ratios_of(rows)) for rows in figure.sources]
    drawing = Drawing(figure, len(lines))
    for number, line in enumerate(lines):
        middle = TOP + figure.row * number + figure.row / 2
        (drawing.one if figure.each else drawing.many)(middle, *line)
    return "\n".join([*drawing.lines, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    options = parser.parse_args()
    stale = 0
    for name, figure in DRAWN.items():
        path = FIGURES / name
        drawn = draw(figure)
        if path.exists() and path.read_text(encoding="utf-8") == drawn:
            continue
        shown = path.relative_to(ROOT)
        if options.check:
            stale = 1
            remedy = "run scripts/draw-figures.py"
            print(f"draw-figures: {shown} is stale: {remedy}", file=sys.stderr)
            continue
        FIGURES.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
        print(f"draw-figures: wrote {shown}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
