# ===- explain.py - What fastk does with a model, and why -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk.dynamo.explain(model, x): each region of a model, whether it is replaced, and why.

Times are those of Inductor's code for the region by itself, and of the winner's where
there is one, measured as in a duel; shares are of Inductor's time for the whole graph.
"""

import contextlib
import dataclasses
import html
import statistics
import sys

import torch

from . import backend, compiler, duel, families, regions, whole
from .errors import Failed, Unsupported

#: Measurements of what has no opponent.
SAMPLES = 20


@dataclasses.dataclass
class Row:
    """One workload of a graph. Seconds are None where they are not known."""

    graph: int
    name: str
    key: str
    outcome: str
    reason: str
    inductors: float | None = None
    ours: float | None = None

    @property
    def is_replaced(self):
        return self.outcome == "replaced"


@dataclasses.dataclass
class Graph:
    """One graph: Inductor's seconds for it, or why fastk leaves it alone, how it did as
    one op by families, where they are wanted, and how with all that won."""

    number: int
    inductors: float | None = None
    reason: str | None = None
    whole: str | None = None
    as_one: str | None = None

    def notes(self):
        if self.as_one:
            yield f"graph {self.number} as one op: {self.as_one}"
        if self.whole:
            yield f"graph {self.number} with what won: {self.whole}"
        if self.reason:
            yield f"graph {self.number}: left to Inductor: {self.reason}"


@dataclasses.dataclass
class Explanation:
    """What explain() has found. print() shows text(); page() is HTML."""

    device: str
    graphs: list
    rows: list
    #: What torch.compile itself leaves to Python, in its words: fastk sees none of it.
    breaks: list = dataclasses.field(default_factory=list)

    @property
    def total(self):
        return sum(each.inductors or 0 for each in self.graphs)

    def share(self, rows):
        """Of Inductor's time for all graphs, what it takes for these rows."""
        return sum(row.inductors or 0 for row in rows) / self.total if self.total else 0

    def notes(self):
        for graph in self.graphs:
            yield from graph.notes()
        for text in self.breaks:
            yield f"torch.compile leaves a part to Python: {text}"

    def summary(self):
        if not self.graphs:
            return "torch.compile made no graph of this model: nothing of it reaches fastk or Inductor"
        replaced = [row for row in self.rows if row.is_replaced]
        known = [row for row in self.rows if row.inductors is not None]
        text = (
            f"{len(replaced)} of {len(self.rows)} regions are replaced, "
            f"{self.share(replaced):.0%} of Inductor's {_seconds(self.total)} on "
            f"{self.device}"
        )
        # Apart, regions are slower than within what Inductor fuses them with.
        return f"{text}; regions apart take {self.share(known):.0%} of it"

    def _cells(self):
        for row in sorted(self.rows, key=lambda row: -(row.inductors or 0)):
            ratio = row.inductors / row.ours if row.inductors and row.ours else None
            yield (
                f"{self.share([row]):.1%}" if row.inductors else "-",
                _seconds(row.inductors),
                _seconds(row.ours),
                f"{ratio:.2f}" if ratio else "-",
                row.outcome,
                row.name,
                row.key[:8],
                row.reason,
            )

    HEADS = (
        "share", "Inductor", "fastk", "times as fast", "outcome", "region", "key", "why",
    )  # fmt: skip

    def text(self):
        """A table for a terminal."""
        rows = [self.HEADS, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [self.summary()]
        lines += self.notes()
        if self.rows:
            lines += [
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                for row in rows
            ]
        return "\n".join(lines) + "\n"

    __str__ = text

    def page(self):
        """The same as a page of HTML."""
        cell = "".join

        def line(tag, cells):
            return f"<tr>{cell(f'<{tag}>{html.escape(each)}</{tag}>' for each in cells)}</tr>"

        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        body = "\n".join(line("td", row) for row in self._cells())
        return (
            '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">'
            "<title>fastk: regions of a model</title><style>"
            "body{font:14px/1.4 sans-serif;margin:2em}table{border-collapse:collapse}"
            "td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ddd}"
            "td:nth-child(-n+4){text-align:right}</style>\n"
            f"<h1>Regions of a model</h1><p>{html.escape(self.summary())}</p>{notes}\n"
            f"<table>{line('th', self.HEADS)}\n{body}\n</table></html>\n"
        )


def _seconds(value):
    if value is None:
        return "-"
    return f"{value * 1e6:.1f} us" if value < 1e-3 else f"{value * 1e3:.2f} ms"


class _Explainer(backend.Rewriter):
    """Looks at graphs as the backend does, and replaces nothing."""

    def look(self, graph, module, inputs, explanation):
        number, self.won = graph.number, []
        text = self.imports.text_of(module, inputs)
        found = compiler.workloads_of(text, self.settings)
        is_used = families.are_wanted() and self._explain_as_one(
            graph, module, inputs, text, found
        )
        for workload in found:
            row = Row(
                number,
                workload["name"],
                workload["key"],
                workload["outcome"],
                workload["reason"],
            )
            explanation.rows.append(row)
            if is_used:
                row.outcome = "in the graph's op"
                continue
            with _told(row):
                self._explain(module, workload, row)
        if self.won:
            self._explain_whole(module, inputs, graph)

    def _explain_as_one(self, graph, module, inputs, text, found):
        """Says how the graph did as one op by families; whether it is used so."""
        try:
            _, result, said = self.family_result(module, inputs, text, found)
        except Exception as error:
            graph.as_one = str(error)
            return False
        kept = whole.is_kept(result)
        used = "it is used" if kept else "it is not used"
        graph.as_one = f"{said}, {used}: {result.text()}"
        return kept

    def _explain_whole(self, module, inputs, graph):
        """What of all that won together."""
        chosen = [(region, op) for region, op, _ in self.won]
        rewritten = regions.replace_all(module, chosen)
        result = self.whole(module, rewritten, inputs, chosen)
        graph.whole = result.text()
        if whole.is_kept(result):
            return
        graph.reason = "with what won by itself it is no faster as a whole"
        for _, _, row in self.won:
            row.outcome = "not replaced"
            row.reason += "; the graph as a whole is no faster"

    def _explain(self, module, workload, row):
        region = regions.cut(module, workload)
        part = regions.subgraph(module, region)
        values = [regions.value_of(node) for node in region.inputs]
        if row.outcome != "hit":
            row.inductors = seconds_of(part, values, self.device)
            return
        try:
            taken = {node for region, _, _ in self.won for node in region.nodes}
            region, op, result = self.result_of(module, workload, taken)
        except Unsupported:
            row.inductors = seconds_of(part, values, self.device)
            raise
        row.inductors, row.ours = result.inductors or None, result.ours or None
        row.outcome = "replaced" if result.is_won else "not replaced"
        row.reason = result.text()
        if result.is_won:
            self.won.append((region, op, row))


@contextlib.contextmanager
def _told(row):
    """What keeps fastk from a region is the row's reason."""
    try:
        yield
    except (Unsupported, Failed) as error:
        if row.outcome == "hit":
            row.outcome = "not replaced"
        row.reason = f"{row.reason}; {error}" if row.reason else str(error)


def seconds_of(module, values, device):
    """What a call of Inductor's code for a GraphModule takes, like values given."""
    with torch._guards.tracing(None), torch.no_grad():
        inputs = duel.operands(values, device, duel.indices_of(module))
        compiled, clock = backend.compiled(module, inputs, {}), duel.clock_of(device)

        def call():
            return compiled(*inputs)

        clock.prepare([call])
        return statistics.median(clock.seconds(call) for _ in range(SAMPLES))


def _graph_breaks():
    # Where it gives a whole frame up only the second has it.
    counters = torch._dynamo.utils.counters
    return counters["graph_break"] | counters["unimplemented"]


def _in_short(text):
    """Of what torch.compile says of a graph break: what it is, and where."""
    what, *rest = text.strip().splitlines()
    where = [line.partition(":")[2].strip() for line in rest if "debug context:" in line]
    return f"{what}: {where[0]}" if where and where[0] else what


def explain(model, *args, progress=None, **kwargs):
    """Says what the backend "fastk" does with model(*args, **kwargs), and why.

    It calls the model once, without gradients. Returns an Explanation. `progress`: is
    called with a line of text for each graph; None: they go to stderr.
    """
    say = progress or (lambda line: print(line, file=sys.stderr, flush=True))
    explanation = Explanation("", [], [])

    def look(module, inputs):
        graph = Graph(len(explanation.graphs))
        explanation.graphs.append(graph)
        nodes = len(module.graph.nodes)
        say(f"fastk.explain: graph {graph.number} of {nodes} nodes: importing, measuring")
        try:
            rewriter = backend.rewriter_for(module, inputs, kind=_Explainer)
            explanation.device = str(rewriter.device)
            if rewriter.device.type == "cuda":
                explanation.device = torch.cuda.get_device_name(rewriter.device)
            values = [node for node in module.graph.nodes if node.op == "placeholder"]
            graph.inductors = seconds_of(
                module, list(map(regions.value_of, values)), rewriter.device
            )
            rewriter.look(graph, module, inputs, explanation)
        except (Unsupported, Failed) as error:
            graph.reason = str(error)
        return module

    torch._dynamo.reset()
    before = _graph_breaks()
    try:
        with torch.no_grad():
            torch.compile(model, backend=look)(*args, **kwargs)
    finally:
        torch._dynamo.reset()
    explanation.breaks = [_in_short(text) for text in _graph_breaks() - before]
    return explanation
