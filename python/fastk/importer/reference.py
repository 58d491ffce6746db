# ===- reference.py - Reference data from torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reference data: inputs, weights and the outputs PyTorch computes from them.

    python -m fastk.importer.reference FILE.py:NAME --outdir DIR [--seed N]

writes in0.npy, in1.npy, … in the order of the imported function's arguments
(parameters, buffers, inputs) and in their own types, and out0.npy, … computed
in float64 from exactly these values: the yardstick for fastk's own oracle.
"""

import argparse
import io
import math
import os
import sys

from . import containers, source
from .errors import ImporterError
from .files import write_all
from .pins import PIP


def draw(role, name, tensor, generator, norm_weights=()):
    """Random values for one argument, in the argument's own type.

    Weights are drawn so that activations keep their scale and no part is
    neutral: weights of norms near 1, biases near 0, running variances in
    [0.5, 1.5). `norm_weights` names the weights of norms.
    Integers and booleans keep the example's values: their range is the model's.
    """
    import torch

    if not tensor.dtype.is_floating_point:
        return tensor.detach().clone()
    leaf = name.rpartition(".")[2]
    normal = torch.randn(tensor.shape, dtype=torch.float64, generator=generator)
    if role == "input":
        values = normal
    elif leaf == "running_var":
        uniform = torch.rand(tensor.shape, dtype=torch.float64, generator=generator)
        values = 0.5 + uniform
    elif leaf == "running_mean" or leaf == "bias" or tensor.dim() == 0:
        values = 0.1 * normal
    elif name in norm_weights:
        values = 1.0 + 0.1 * normal
    else:
        values = normal / math.sqrt(max(1, math.prod(tensor.shape[1:])))
    return values.to(tensor.dtype)


def compute(build, seed=0, double=True):
    """Runs the module on seeded data.

    Args:
      build: returns (module, args, kwargs), real tensors.
      seed: of weights and inputs alike.
      double: compute in float64; else in the module's own types.

    Returns ([numpy array per argument], [numpy array per result]).
    """
    import torch

    from . import export

    torch.manual_seed(seed)
    module, args, kwargs = build()
    export.make_lazy_weights(module, args, kwargs)
    norm_weights = {
        f"{name}.weight" if name else "weight"
        for name, part in module.named_modules()
        if "Norm" in type(part).__name__
    }
    generator = torch.Generator().manual_seed(seed)
    arguments = export.arguments_of(module, args, kwargs)
    drawn = [
        draw(role, name, tensor, generator, norm_weights)
        for name, role, tensor in arguments
    ]

    def widen(tensor):
        # A copy, so that an update in place cannot reach what is written.
        if double and tensor.dtype.is_floating_point:
            return tensor.double()
        return tensor.clone()

    used = [widen(tensor) for tensor in drawn]
    names = list(export.weights_of(module))
    weights = dict(zip(names, used))
    before = {name: tensor.clone() for name, tensor in weights.items()}
    inputs = iter(used[len(names) :])
    args, kwargs = containers.replaced(
        (args, kwargs),
        lambda leaf: next(inputs) if isinstance(leaf, torch.Tensor) else leaf,
    )
    try:
        with torch.no_grad():
            result = torch.func.functional_call(module, weights, args, kwargs)
    except Exception as error:
        raise ImporterError(
            f"the module fails in {'float64' if double else 'its own types'}: "
            f"{source.first_line(error)}",
            "check that module(*example_inputs) runs in PyTorch itself",
            source.user_line(error),
        ) from error
    changed = [n for n, t in before.items() if not torch.equal(t, weights[n])]
    if changed:
        raise ImporterError(
            f"the module updates its own buffers ({', '.join(changed)})",
            "return module.eval()",
        )
    _, outputs = containers.taken_apart(result)
    return [_numpy(t) for t in drawn], [_numpy(t) for t in outputs]


def _numpy(tensor):
    try:
        return tensor.detach().contiguous().numpy()
    except TypeError as error:
        raise ImporterError(
            f"numpy has no type for {tensor.dtype}", "use float16 or float32"
        ) from error


def _npy(array):
    import numpy

    stream = io.BytesIO()
    numpy.save(stream, array)
    return stream.getvalue()


def write(arrays_in, arrays_out, outdir):
    """Writes in<i>.npy and out<i>.npy into `outdir`, making the folder."""
    try:
        os.makedirs(outdir, exist_ok=True)
    except OSError as error:
        raise ImporterError(
            f"cannot make the folder '{outdir}': {error.strerror}",
            "name a folder that you may write with --outdir",
        ) from error
    contents = {}
    for prefix, arrays in (("in", arrays_in), ("out", arrays_out)):
        for index, array in enumerate(arrays):
            contents[os.path.join(outdir, f"{prefix}{index}.npy")] = _npy(array)
    write_all(contents)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m fastk.importer.reference",
        description=__doc__,
        epilog=f"Runs the module for real: use small sizes. It needs: {PIP} numpy",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", metavar="FILE.py:NAME", help="as for python -m fastk.importer"
    )
    parser.add_argument("--outdir", required=True, help="the folder to write into")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument(
        "--double",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compute in float64 (the default), or in the module's own types",
    )
    parser.error = lambda message: (
        print(f"{parser.prog}: error: {message}", file=sys.stderr),
        sys.exit(1),
    )
    options = parser.parse_args(argv)
    try:
        from . import pins

        pins.check()
        function = source.load(options.source)
        arrays = compute(lambda: source.call(function), options.seed, options.double)
        write(*arrays, options.outdir)
    except ImporterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
