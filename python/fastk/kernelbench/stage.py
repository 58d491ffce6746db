# ===- stage.py - One step of one problem -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""python -m fastk.kernelbench.stage STEP PROBLEM FOLDER: a process for each step.

STEP is import (writes FOLDER/model.mlir) or measure (runs FOLDER/model.so beside
torch, and asks for its turns as turns.py says). The answer is one line of JSON on
stdout; a crash or a hang costs one step.
"""

import json
import linecache
import os
import sys

from ..importer import ImportedModule, ImporterError, child, import_in_process
from . import measure, problems, turns


def import_problem(problem, folder):
    """Writes model.mlir and its sidecar; returns what there is to say."""

    def task(report):
        return import_in_process(lambda: _example(problem), report=report)

    imported = ImportedModule(**child.run(task, problem.name, progress=False))
    imported.write(os.path.join(folder, "model.mlir"))
    return {"results": len(imported.sidecar["results"])}


def _example(problem):
    from ..importer import source

    module, inputs = problems.build(problem)
    return (module, *source.check_example(module, inputs, f"{problem.name} gives"))


def _line(where):
    """What stands at (file, line), for a reason; the file is the problem's."""
    text = where and linecache.getline(*where).strip()
    return f", in line {where[1]}: {text}" if text else ""


def main(arguments):
    step, path, folder = arguments
    problem = problems.Problem(os.path.basename(path), 0, path)
    # What models print is no answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        if step == "import":
            said = import_problem(problem, folder)
        else:
            said = measure.measure(problem, folder, turns.Asker(answer, 0))
        said = {"status": "ok", **said}
    except ImporterError as error:
        said = {"status": "fail", "reason": f"error: {error.message}{_line(error.where)}"}
    os.write(answer, json.dumps(said).encode() + b"\n")
    # torch-mlir and CUDA can hang in the interpreter's exit.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
