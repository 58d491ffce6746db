#!/usr/bin/env python3
# ===- new-pass.py - The skeleton of a pass -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes the skeleton of a pass over functions, with its test.

    scripts/new-pass.py fastk-fold-pads "Fold pads into the ops that read them"

Written are include/fastk/Transforms/FoldPads.td, lib/Transforms/FoldPads.cpp and
test/Transforms/fastk_fold_pads.mlir; Passes.td and the CMakeLists.txt get a line each.
Then build, run the test and go on from there (CONTRIBUTING.md, "Recipes"):

    scripts/test.sh test/Transforms/fastk_fold_pads.mlir
"""

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

RULE = "===----------------------------------------------------------------------==="

TABLEGEN = """\
{banner}
def Fastk{name}Pass
    : Pass<"{option}", "::mlir::func::FuncOp"> {{
  let summary = "{summary}";
  let description = [{{
    What it does and why; what it leaves alone. Then an example, which a test
    runs: its command, IR before it, and what it becomes.

    ```mlir
    // fastk-opt --{option}
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {{
      return %x : tensor<4xf32>
    }}
    ```
    becomes
    ```mlir
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {{
      return %x : tensor<4xf32>
    }}
    ```
  }}];
}}
"""

SOURCE = """\
{banner}
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fastk {{
#define GEN_PASS_DEF_FASTK{upper}PASS
#include "fastk/Transforms/Passes.h.inc"
}} // namespace fastk

namespace {{
struct Fastk{name}Pass : fastk::impl::Fastk{name}PassBase<Fastk{name}Pass> {{
  using Base::Base;

  void runOnOperation() override {{
    RewritePatternSet patterns(&getContext());
    // Patterns are added here.
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }}
}};
}} // namespace
"""

TEST = """\
// RUN: fastk-opt %s --pass-pipeline='builtin.module(func.func({option}))' | FileCheck %s

// What the pass is for comes here; this is what it leaves alone.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return %arg0
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {{
  return %x : tensor<4xf32>
}}
"""


def banner(file, title, kind):
    """The banner, with as many words of `title` as a line of 80 columns holds."""
    start = f"//===- {file} - "
    end = f"{'-*- ' + kind + ' -*-' if kind else ''}===//"
    # Behind the title come a blank and a dash.
    room = 80 - len(start) - len(end) - 2
    start += textwrap.shorten(title, room, placeholder="") + " "
    lines = [
        start + "-" * max(1, 80 - len(start) - len(end)) + end,
        "//",
        "// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.",
        "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
        "//",
        f"//{RULE}//",
        "",
    ]
    return "\n".join(lines)


def add_line(path, line, pattern):
    """Adds `line` behind the last one that `pattern` matches."""
    lines = path.read_text().splitlines(keepends=True)
    last = max(i for i, each in enumerate(lines) if re.match(pattern, each))
    lines.insert(last + 1, line + "\n")
    path.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("option", metavar="fastk-NAME", help="the pass as an option")
    parser.add_argument("summary", help="one sentence for --help, without a full stop")
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[1],
        help="the checkout (default: this one)",
    )
    options = parser.parse_args()
    if not re.fullmatch(r"fastk(-[a-z][a-z0-9]*)+", options.option):
        parser.error(f"'{options.option}' is not fastk-NAME, with words of a-z and 0-9")
    if '"' in options.summary or options.summary.endswith("."):
        parser.error("the summary has no full stop and no quotes")
    name = "".join(word.capitalize() for word in options.option.split("-")[1:])
    include = options.root / "include/fastk/Transforms"
    library = options.root / "lib/Transforms"
    test = f"test/Transforms/{options.option.replace('-', '_')}.mlir"
    fields = dict(
        name=name, upper=name.upper(), option=options.option, summary=options.summary
    )
    written = {
        include / f"{name}.td": TABLEGEN.format(
            banner=banner(f"{name}.td", options.summary, "tablegen"), **fields
        ),
        library / f"{name}.cpp": SOURCE.format(
            banner=banner(f"{name}.cpp", options.summary, ""), **fields
        ),
        options.root / test: TEST.format(**fields),
    }
    for path in written:
        if path.exists():
            parser.error(f"{path} is there already")
    for path, text in written.items():
        path.write_text(text)
    subprocess.run(["clang-format-22", "-i", library / f"{name}.cpp"], check=True)
    add_line(
        include / "Passes.td", f'include "fastk/Transforms/{name}.td"', 'include "fastk/'
    )
    add_line(library / "CMakeLists.txt", f"  {name}.cpp", r"  \w+\.cpp")
    for path in written:
        print(path.relative_to(options.root))
    print(f"now: scripts/test.sh {test}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
