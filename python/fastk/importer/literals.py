# ===- literals.py - Tensor constants by value -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Tensor constants as dense attributes, not as resources.

torch-mlir makes every tensor constant a `dense_resource`, named by shape and
type alone and with its values at the end of the file. Two models that differ
in a constant's values only then have the same function text, and whoever
compares functions takes them for equal. A dense attribute is its values.
"""


def hooks():
    """Returns the FxImporterHooks that import literals by value."""
    from torch_mlir import ir
    from torch_mlir.extras import fx_importer

    class DenseLiterals(fx_importer.FxImporterHooks):
        def resolve_literal(self, gni, literal, info):
            import numpy
            import torch

            npy = fx_importer.TORCH_DTYPE_TO_NPY_TYPE
            if not isinstance(literal, torch.Tensor) or literal.numel() < 2:
                return None  # torch-mlir makes these dense itself
            if literal.dtype not in npy or literal.dtype.is_complex:
                return None
            array = numpy.array(literal.tolist(), dtype=npy[literal.dtype])
            element = fx_importer.TORCH_DTYPE_TO_MLIR_TYPE[literal.dtype]()
            return ir.Operation.create(
                name="torch.vtensor.literal",
                results=[gni._cc.tensor_to_vtensor_type(literal)],
                attributes={
                    "value": ir.DenseElementsAttr.get(
                        array, type=element, shape=array.shape
                    )
                },
            ).result

    return DenseLiterals()
