# ===- import_server.py - Imports graphs, one after the other -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""python -m fastk.dynamo.import_server: the process that has torch-mlir.

The user's process has CUDA, threads and Inductor's own compilers, and torch-mlir brings
an LLVM of its own: so this one is started anew, and no fork. It reads the name of a file
with a graph (graphs.to_data) from each line of stdin, and answers with one line of JSON:
{"text"}, {"error"}: never another answer for this graph, or {"failed"}: perhaps one
the next time.
"""

import json
import os
import sys

from ..importer import ImporterError, import_in_process, pins, quick_loading


def import_graph(data):
    """The text of the graph, with its nodes' places as locations."""
    with quick_loading():
        import torch
        import torch.fx.traceback

        from . import graphs

    module, described = graphs.from_data(data)

    def build():
        inputs = [torch.empty(shape, dtype=dtype) for shape, dtype in described]
        return module, tuple(inputs), {}

    with torch.fx.traceback.preserve_node_meta():
        imported = import_in_process(build, locations=True, check=pins.check_range)
    results = imported["sidecar"]["results"]
    if any(each["role"] != "output" for each in results):
        raise ImporterError("it writes into its inputs", "return new tensors")
    return imported["text"]


def _answer(path):
    try:
        with open(path, "rb") as file:
            return {"text": import_graph(file.read())}
    except ImporterError as error:
        return {"error": error.message}
    except (OSError, MemoryError) as error:
        return {"failed": f"{type(error).__name__}: {error}"[:2000]}
    except Exception as error:  # torch raises anything
        return {"error": f"{type(error).__name__}: {error}"[:2000]}


def main():
    # What libraries print is no answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(line.strip())) + "\n")
        answers.flush()
    # torch-mlir can hang in the interpreter's exit.
    os._exit(0)


if __name__ == "__main__":
    main()
