# ===- stage.py - One step of one problem -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A process for each step of each problem: a crash or a hang costs one step.

python -m fastk.kernelbench.stage import PROBLEM FOLDER writes FOLDER/model.mlir; the
answer is one line of JSON on stdout.

python -m fastk.kernelbench.stage measure imports torch, which takes ten seconds of a
processor, and forks a process for each line of stdin, {"problem", "folder"}: that runs
FOLDER/model.so beside torch, and asks for its turns as turns.py says. When it has ended
a line {"said", "code", "stderr"} follows: its answer or null, as subprocess says how
it ended, and the end of what it wrote.
"""

import json
import linecache
import os
import sys
import tempfile
import traceback

from ..importer import ImportedModule, ImporterError, child, import_in_process
from ..importer import quick_loading
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
    # What models print is no answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    if arguments == ["measure"]:
        return _serve(answer)
    _, path, folder = arguments
    said = _said(lambda: import_problem(_problem(path), folder))
    os.write(answer, json.dumps(said).encode() + b"\n")
    # torch-mlir can hang in the interpreter's exit.
    os._exit(0)


def _problem(path):
    return problems.Problem(os.path.basename(path), 0, path)


def _said(step):
    try:
        return {"status": "ok", **step()}
    except ImporterError as error:
        return {"status": "fail", "reason": f"error: {error.message}{_line(error.where)}"}


def _serve(answer):
    # CUDA does not work in a process whose parent has begun with it: without this, the
    # question whether there is a GPU begins.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    with quick_loading():
        import torch._inductor.compile_fx  # noqa: F401

    # The runner sends a line when it has the answer to the last, and none between.
    while line := os.read(0, 1 << 16):
        request = json.loads(line)
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                os.dup2(err.fileno(), 1)
                os.dup2(err.fileno(), 2)
                _measure_in_child(request, answer, said)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            ended = {"said": json.loads(said.read() or b"null"), "code": code}
            err.seek(max(0, err.seek(0, os.SEEK_END) - 4000))
            ended["stderr"] = err.read().decode(errors="replace")
        os.write(answer, json.dumps(ended).encode() + b"\n")


def _measure_in_child(request, answer, result):
    """Does not return: what the parent holds is not for this process to put away."""
    code = 1
    try:
        turn = turns.Asker(answer, 0)
        problem = _problem(request["problem"])
        said = _said(lambda: measure.measure(
            problem, request["folder"], turn, request["accepts"]))  # fmt: skip
        result.write(json.dumps(said).encode())
        result.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
