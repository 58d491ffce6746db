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

Each row of a table is a dot: torch's best time over ours, on a logarithmic axis.
"""

import argparse
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "benchmarks"
FIGURE = ROOT / "docs" / "figures" / "ratios.svg"
#: What is drawn: a title, a page, and the heading that its table follows; "": the first.
GROUPS = [
    ("Products of f16, bf16", "families.md", "Products of f16 and bf16 alone"),
    ("with bias and GELU", "families.md", "With bias and GELU"),
    ("Products of f32", "families.md", "Products of f32"),
    ("Attention, f16", "attention.md", ""),
    ("Softmax, norms, sums", "reductions.md", ""),
]
LEAST, MOST = 0.6, 5.0
LEFT, WIDTH, ROW, TOP, RIGHT = 170, 430, 44, 34, 180


def ratios_of(page, heading):
    """The ratios of the first table with such a column behind a heading."""
    text = (PAGES / page).read_text(encoding="utf-8")
    if heading:
        text = text[text.index(f"## {heading}") :]
    column, found = None, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            if found:
                break
            column = None
        elif column is None:
            column = cells.index("ratio") if "ratio" in cells else None
        elif match := re.match(r"\d+(\.\d+)?", cells[column]):
            found.append(float(match[0]))
    if not found:
        raise SystemExit(f"draw-figures: {page} has no table of ratios behind '{heading}'")
    return found


def summary(ratios):
    mean = statistics.geometric_mean(ratios)
    losses = sum(ratio < 1 for ratio in ratios)
    return f"{mean:.2f}; {losses} of {len(ratios)} below 1"


def place(ratio):
    """Of a ratio on the axis; what is beyond its ends lies at them."""
    ratio = min(max(ratio, LEAST), MOST)
    return LEFT + WIDTH * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def draw():
    height = TOP + ROW * len(GROUPS) + 40
    total = LEFT + WIDTH + RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" '
        f'width="{total}" height="{height}" role="img" font-family="sans-serif" font-size="13">',
        "<title>Times of torch's best over those of fastk's families, on an H200</title>",
        "<style>svg{background:#fff}text{fill:#222}.axis{stroke:#bbb}.one{stroke:#222}"
        ".win{fill:#1769aa}.loss{fill:#c0392b}.mean{stroke:#222;stroke-width:2}"
        "@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#ddd}"
        ".axis{stroke:#444}.one,.mean{stroke:#ddd}.win{fill:#5aa9e6}.loss{fill:#ff7b6b}}"
        "</style>",
        f'<text x="{LEFT}" y="16">torch\'s best time over ours, log scale; '
        "right of 1 ours is faster</text>",
    ]
    bottom = TOP + ROW * len(GROUPS)
    for tick in (0.7, 1, 1.5, 2, 3, 5):
        x = place(tick)
        kind = "one" if tick == 1 else "axis"
        lines.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
    for number, (title, page, heading) in enumerate(GROUPS):
        ratios = ratios_of(page, heading)
        middle = TOP + ROW * number + ROW / 2
        lines.append(f'<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{title}</text>')
        for index, ratio in enumerate(ratios):
            # Apart, so that equal ones are seen: the same at each drawing.
            y = middle + (index * 7 % 15 - 7) * 1.6
            kind = "win" if ratio >= 1 else "loss"
            lines.append(
                f'<circle class="{kind}" cx="{place(ratio):.1f}" cy="{y:.1f}" r="3" '
                'fill-opacity="0.75"/>'
            )
        x = place(statistics.geometric_mean(ratios))
        lines.append(
            f'<line class="mean" x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 15}" '
            f'y2="{middle + 15}"/>'
        )
        lines.append(
            f'<text x="{LEFT + WIDTH + 12}" y="{middle + 4}">{summary(ratios)}</text>'
        )
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    options = parser.parse_args()
    drawn = draw()
    kept = FIGURE.read_text(encoding="utf-8") if FIGURE.exists() else ""
    name = FIGURE.relative_to(ROOT)
    if options.check:
        if kept != drawn:
            print(f"draw-figures: {name} is stale: run scripts/draw-figures.py", file=sys.stderr)
        return int(kept != drawn)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    FIGURE.write_text(drawn, encoding="utf-8")
    print(f"draw-figures: wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
