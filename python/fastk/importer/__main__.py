# ===- __main__.py - python -m fastk.importer -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: python -m fastk.importer FILE.py:NAME -o model.mlir."""

import argparse
import re
import sys

from .. import commandline
from . import ImporterError, import_file
from .pins import PIP

_DESCRIPTION = """\
Imports a PyTorch module as MLIR text that fastk-opt reads: linalg on tensors.
"""

_EPILOG = f"""\
FILE.py:NAME names a function without arguments that returns the module and
example inputs for it:

    # models.py
    import torch

    def mlp():
        module = torch.nn.Sequential(
            torch.nn.Linear(768, 3072), torch.nn.GELU(), torch.nn.Linear(3072, 768))
        return module.eval(), (torch.randn(512, 768),)

    python -m fastk.importer models.py:mlp -o mlp.mlir
    fastk-opt mlp.mlir --search -o compiled.mlir

The function runs under fake tensors: a model of any size takes no memory. Only
a model that reads values while it runs is imported with real tensors.

Weights are arguments of the imported function, before the inputs: parameters,
then buffers, then inputs. OUT.json beside the output says which is which.
The module is imported as it is: for inference, return module.eval().

It needs: {PIP}
Exit codes: 0 done; 1 the input is wrong, with a diagnostic; 130 interrupted.
"""


def parser():
    result = argparse.ArgumentParser(
        prog="python -m fastk.importer",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "source",
        metavar="FILE.py:NAME",
        help="a Python file and the function in it that returns "
        "(module, example_inputs)",
    )
    result.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default="-",
        help="the MLIR file to write; - is stdout, which is the default",
    )
    result.add_argument(
        "--func-name",
        metavar="NAME",
        default="forward",
        help="the name of the function in the result (default: forward)",
    )
    result.add_argument(
        "--dynamic",
        action="append",
        default=[],
        metavar="INPUT:DIM[=SIZE]",
        help="a size that a call decides, as x:0=batch; repeatable. Equal names of "
        "SIZE are equal sizes (default: each its own). For the host only",
    )
    result.add_argument(
        "--no-sidecar",
        action="store_true",
        help="do not write OUT.json, which names the arguments and results",
    )
    result.add_argument(
        "--quiet", action="store_true", help="no progress on stderr, only errors"
    )
    commandline.use_exit_code_1(result)
    return result


def _dynamic_shapes(texts):
    """{input: {dimension: size's name}} of INPUT:DIM[=SIZE]..."""
    shapes = {}
    for index, text in enumerate(texts):
        found = re.fullmatch(r"(.+):(\d+)(?:=(\w+))?", text)
        if not found or (found[3] and not found[3].isidentifier()):
            raise ImporterError(
                f"--dynamic={text} is not INPUT:DIM[=SIZE]",
                "write the input's name, a dimension from 0, and a name, as x:0=batch",
            )
        name, dimension, size = found.groups()
        shapes.setdefault(name, {})[int(dimension)] = size or f"size{index}"
    return shapes


def main(argv=None):
    commandline.open_streams()
    options = parser().parse_args(argv)
    try:
        imported = import_file(
            options.source,
            options.func_name,
            progress=not options.quiet,
            dynamic_shapes=_dynamic_shapes(options.dynamic),
        )
        if options.output == "-":
            remedy = "free some space, or name a file with -o"
            return commandline.write_stdout(imported.text, remedy)
        imported.write(options.output, sidecar=not options.no_sidecar)
    except ImporterError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fastk.importer: interrupted, nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
