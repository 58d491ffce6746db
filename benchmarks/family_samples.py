# ===- family_samples.py - Samples that families were admitted on, timed -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes what admissions have measured as a page: the times in evidence.json of families.

    python3 benchmarks/family_samples.py [FOLDER...] [-o PAGE.md]

Families without evidence are left out, and named, unless they are a FOLDER of their own.

FOLDER is a family or holds families; without one those in families/*. Nothing is run: the
numbers are those that `fastk-opt --admit-family` wrote. Exit codes: 0 done; 1 evidence
cannot be read, or none has times.
"""

import argparse
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

HEAD = """# Families on random workloads

The workloads that families were admitted on ([families.md](../families.md#admitted-on-evidence)), as
[benchmarks/family_samples.py](../../benchmarks/family_samples.py) reads them out of the evidence beside the
families. Nobody chose these workloads: seed and number draw sizes, types, layouts and surroundings, and what a
family does not take is left out. Every instance here is right in the class beside it.

**The ratio is to fastk's default lowering, and not to torch** or any library: the time of the default lowering over that of
the family's first choice, the instance that it expects to be fastest, which nobody searched for. Above 1 the family is
faster. Sizes are random and mostly small, so that much of a time may be that of a launch. Each is a first measurement of a
tenth of a second for both programs together, caches flushed before every call; times are medians, the ratio that of
calls in pairs.

<!-- not-run: needs a GPU -->
```console
{commands}
$ python3 benchmarks/family_samples.py{folders} -o docs/benchmarks/family-samples.md
```

## Means

{means}
"""

#: Of a ratio in a table, and what it says.
MARK = " *"
RESOLUTION = (
    "`*`: the default lowering takes less than five empty launches, and both times have one in them: "
    "the ratio is biased towards 1."
)


class Unusable(Exception):
    """Evidence that no page can be written of."""


class Evidence:
    """What a page says of the evidence of one family."""

    def __init__(self, path):
        self.folder = path.parent
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            self.target, self.device = read["target"], read["device"]
            is_host = self.target == "host"
            self.compiler = f"clang {read['clang']}" if is_host else f"NVRTC {read['nvrtc']}"
            self.vectors = f"vectors of {read['vector_bytes']} bytes" if is_host else ""
            self.where = f" (host, {self.vectors})" if is_host else ""
            self.driver = read.get("driver", "")
            self.seed = read["seed"]
            instances = read["instances"]
            self.samples = len({each["sample"] for each in instances})
            self.rows = [Row(each) for each in instances if "times" in each]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unusable(
                f"{path}: {type(error).__name__}: {error}; {self.command()} writes it"
            ) from error

    def command(self):
        target = getattr(self, "target", "cuda")
        seed = f" --seed={self.seed}" if getattr(self, "seed", 0) else ""
        return f"fastk-opt --admit-family={shown(self.folder)} --target={target}{seed}"

    def machine(self):
        driver = f", its driver's CUDA {self.driver}" if self.driver else ""
        vectors = f" with {self.vectors}" if self.vectors else ""
        return f"{self.device}{vectors}{driver}, {self.compiler}"


class Row:
    """One sample that was timed."""

    def __init__(self, instance):
        times = instance["times"]
        self.sample, self.about = int(instance["sample"]), str(instance["about"])
        self.precision = str(instance["precision"])
        self.default, self.instance = float(times["default_ns"]), float(times["instance_ns"])
        self.ratio = float(times["ratio"])
        if not self.ratio > 0:
            raise ValueError(f"the ratio of sample {self.sample} is not above 0")
        self.mark = MARK if times.get("below_resolution") else ""


def shown(folder):
    """A folder as it is named from the root of the repository."""
    try:
        return folder.resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return str(folder)


def microseconds(ns):
    return f"{ns / 1000:.1f}"


def table(head, columns, rows):
    """`columns`: of each, as Markdown aligns it."""
    lines = [head, columns, *rows]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in lines)


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def means_of(families):
    rows = []
    for family in families:
        ratios = [row.ratio for row in family.rows]
        rows.append(
            [
                f"`{family.folder.name}`{family.where}",
                f"{len(ratios)} of {family.samples}",
                f"{geometric_mean(ratios):.2f}" if ratios else "not timed",
                f"{min(ratios):.2f}" if ratios else "",
                f"{max(ratios):.2f}" if ratios else "",
                sum(ratio < 1 for ratio in ratios) if ratios else "",
                family.machine(),
            ]
        )
    head = ["family", "samples that were timed", "geometric mean", "least", "greatest"]
    head += ["slower than the default lowering", "on"]
    return table(head, ["---"] + ["--:"] * 5 + ["---"], rows)


def section_of(family):
    ratios = [row.ratio for row in family.rows]
    least = min(family.rows, key=lambda row: row.ratio)
    text = [
        f"## {family.folder.name}{family.where}",
        f"{family.machine()}; seed {family.seed}. Geometric mean {geometric_mean(ratios):.2f}, least "
        f"{least.ratio:.2f} (sample {least.sample}).",
        table(
            ["sample", "workload", "default lowering, µs", "first choice, µs", "ratio", "class"],
            ["--:", "---", "--:", "--:", "--:", "---"],
            [
                [
                    row.sample,
                    row.about.replace("|", "\\|"),
                    microseconds(row.default),
                    microseconds(row.instance),
                    f"{row.ratio:.2f}{row.mark}",
                    row.precision,
                ]
                for row in family.rows
            ],
        ),
    ]
    if any(row.mark for row in family.rows):
        text.append(RESOLUTION)
    return "\n\n".join(text)


def page_of(families, folders):
    head = HEAD.format(
        commands="\n".join(dict.fromkeys(f"$ {family.command()}" for family in families)),
        folders="".join(f" {shown(folder)}" for folder in folders),
        means=means_of(families),
    )
    timed = [section_of(family) for family in families if family.rows]
    return "\n".join([head, "\n\n".join(timed)]) + "\n"


def evidence_in(folder):
    """Of a family: on GPUs one file, on the host one for each width of vectors."""
    files = [folder / f"evidence{of}.json" for of in ("", ".16", ".32", ".64")]
    return [file for file in files if file.exists()]


def evidence_of(folders):
    """The evidence of the folders that are families, in order of their names."""
    found = []
    for folder in folders or sorted((ROOT / "families").iterdir()):
        is_family = (folder / "family.json").exists()
        inner = [folder] if is_family else sorted(p.parent for p in folder.glob("[!.]*/family.json"))
        if not inner:
            raise Unusable(f"{folder}: holds no family: a folder with family.json and evidence.json")
        for each in inner:
            files = evidence_in(each)
            if is_family and not files:
                files = [each / "evidence.json"]
            found += files
            if not files:
                print(f"{shown(each)} is left out: it has no evidence", file=sys.stderr)
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("-o", dest="page", type=pathlib.Path, metavar="PAGE.md")
    options = parser.parse_args(arguments)
    try:
        families = [Evidence(path) for path in evidence_of(options.folders)]
        if not any(family.rows for family in families):
            raise Unusable(
                "no evidence has times: it is of an earlier fastk, or all calls were disturbed; "
                f"{families[0].command()} measures"
            )
        page = page_of(families, options.folders)
    except (Unusable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.page:
        options.page.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
