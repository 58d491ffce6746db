# ===- peer.py - torch.compile, compiled before it runs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.compile in two steps: compiling, which needs the host, and running.

torch.compile compiles when it is first called, and Inductor then chooses among its
kernels by timing them: that may neither disturb others nor be disturbed.
"""


class _Compiled(BaseException):
    """The first graph is compiled, and would run."""


_preparing = False


def backend():
    """Inductor, whose graphs do not run while `prepare` is under way."""
    from torch._dynamo import lookup_backend

    inductor = lookup_backend("inductor")

    def compile_graph(graph, inputs):
        compiled = inductor(graph, inputs)

        def run(*arguments):
            if _preparing:
                raise _Compiled
            return compiled(*arguments)

        return run

    return compile_graph


def prepare(call):
    """Compiles what `call` calls first; returns why that fails, or None."""
    global _preparing
    _preparing = True
    try:
        call()
    except _Compiled:
        pass
    except Exception as error:
        return error
    finally:
        _preparing = False
    return None
