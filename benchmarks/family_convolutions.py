# ===- family_convolutions.py - Convolutions of families on a GPU -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times what families give convolutions beside torch, in one run: those of ResNet-50 at
batch 32, some of few channels, and transposed ones, all NCHW.

    python3 benchmarks/family_convolutions.py make PROGRAMS [--precision=tf32] [ROW...]
    python3 benchmarks/family_convolutions.py time PROGRAMS [--rounds=20] [-o PAGE.md] [ROW...]

A row is CHANNELSxSIZE-FILTERSxWINDOW-sSTRIDE-TYPE; transposed ones begin with t. Of f32 both may
round to TF32: ours by --precision=tf32, torch's by its default.
"""

import sys

import family_rows

BATCH = 32
#: Channels, height and width, filters, window, stride: what ResNet-50 has, each once.
RESNET = [
    (3, 224, 64, 7, 2),
    (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1),
    (64, 56, 256, 1, 1),
    (256, 56, 64, 1, 1),
    (256, 56, 128, 1, 1),
    (128, 56, 128, 3, 2),
    (128, 28, 512, 1, 1),
    (256, 56, 512, 1, 2),
    (512, 28, 128, 1, 1),
    (128, 28, 128, 3, 1),
    (512, 28, 256, 1, 1),
    (256, 28, 256, 3, 2),
    (256, 14, 1024, 1, 1),
    (512, 28, 1024, 1, 2),
    (1024, 14, 256, 1, 1),
    (256, 14, 256, 3, 1),
    (1024, 14, 512, 1, 1),
    (512, 14, 512, 3, 2),
    (512, 7, 2048, 1, 1),
    (1024, 14, 2048, 1, 2),
    (2048, 7, 512, 1, 1),
    (512, 7, 512, 3, 1),
]
#: Few channels, most of them with pixels of less than 128 bytes.
FEW = [
    (5, 130, 64, 5, 1),
    (12, 200, 100, 3, 1),
    (16, 200, 64, 4, 2),
    (20, 150, 64, 5, 1),
    (24, 120, 64, 3, 1),
    (40, 90, 80, 3, 1),
]
#: What decoders have.
TRANSPOSED = [
    (256, 28, 128, 4, 2),
    (512, 14, 256, 2, 2),
    (128, 56, 64, 4, 2),
    (64, 56, 64, 3, 1),
    (64, 64, 32, 5, 3),
]
#: Name, whether they are transposed, sizes.
GROUPS = (
    ("ResNet-50", False, RESNET),
    ("few channels", False, FEW),
    ("transposed", True, TRANSPOSED),
)


def rows():
    """Name -> row."""
    found = {}
    for group, is_transposed, sizes in GROUPS:
        for size in sizes:
            for kind in ("f16", "f32"):
                channels, extent, filters, window, stride = size
                name = f"{channels}x{extent}-{filters}x{window}-s{stride}-{kind}"
                out = extent_of(size, is_transposed)
                sums = extent if is_transposed else out
                found["t" * is_transposed + name] = family_rows.Row(
                    text=lambda size=size, kind=kind, t=is_transposed: module_of(size, kind, t),
                    reference=reference_of(size, is_transposed),
                    shapes=[
                        (BATCH, channels, extent, extent),
                        weights_of(size, is_transposed),
                    ],
                    kind=kind,
                    group=f"{group}, {kind}",
                    work=2e-12 * BATCH * channels * filters * window**2 * sums**2,
                    unit="TFLOP/s",
                    is_compiled=False,
                )
    return found


def padding_of(size, is_transposed):
    window, stride = size[3:]
    return (window - stride) // 2 if is_transposed else window // 2


def extent_of(size, is_transposed):
    _, extent, _, window, stride = size
    padding = padding_of(size, is_transposed)
    if is_transposed:
        return (extent - 1) * stride + window - 2 * padding
    return (extent + 2 * padding - window) // stride + 1


def weights_of(size, is_transposed):
    channels, _, filters, window, _ = size
    lead = (channels, filters) if is_transposed else (filters, channels)
    return (*lead, window, window)


def reference_of(size, is_transposed):
    def convolve(x, w):
        from torch.nn import functional

        name = "conv_transpose2d" if is_transposed else "conv2d"
        padding = padding_of(size, is_transposed)
        return getattr(functional, name)(x, w, stride=size[4], padding=padding)

    return convolve


def module_of(size, kind, is_transposed):
    """The workload: sums in f32, rounded once."""
    channels, extent, filters, window, stride = size
    out = extent_of(size, is_transposed)
    padding = padding_of(size, is_transposed)
    x = f"tensor<{BATCH}x{channels}x{extent}x{extent}x{kind}>"
    w = "tensor<" + "".join(f"{d}x" for d in weights_of(size, is_transposed)) + kind + ">"
    sums = f"tensor<{BATCH}x{filters}x{out}x{out}xf32>"
    result = f"tensor<{BATCH}x{filters}x{out}x{out}x{kind}>"
    # Without zeros x is as large as the windows that move over it.
    span = out + window - 1 if is_transposed else extent + 2 * padding
    wide = f"tensor<{BATCH}x{channels}x{span}x{span}x{kind}>"
    if is_transposed:
        spread = window - 1 - padding
        lines = f"""  %e = tensor.empty() : {wide}
  %zeros = linalg.fill ins(%c0 : {kind}) outs(%e : {wide}) -> {wide}
  %padded = tensor.insert_slice %x into %zeros[0, 0, {spread}, {spread}] [{BATCH}, {channels}, {extent}, {extent}] [1, 1, {stride}, {stride}] : {x} into {wide}"""
        turned = f"tensor<{filters}x{channels}x{window}x{window}x{kind}>"
        lines += f"""
  %we = tensor.empty() : {turned}
  %v = linalg.generic {{indexing_maps = [affine_map<(f, c, y, x) -> (f, c, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} outs(%we : {turned}) {{
  ^bb0(%o: {kind}):
    %f = linalg.index 0 : index
    %c = linalg.index 1 : index
    %y = linalg.index 2 : index
    %z = linalg.index 3 : index
    %last = arith.constant {window - 1} : index
    %i = arith.subi %last, %y : index
    %j = arith.subi %last, %z : index
    %one = tensor.extract %w[%c, %f, %i, %j] : {w}
    linalg.yield %one : {kind}
  }} -> {turned}"""
        weights, step = f"ins(%padded, %v : {wide}, {turned})", 1
    else:
        lines = f"""  %padded = tensor.pad %x low[0, 0, {padding}, {padding}] high[0, 0, {padding}, {padding}] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %c0 : {kind}
  }} : {x} to {wide}"""
        weights, step = f"ins(%padded, %w : {wide}, {w})", stride
    rounded = ""
    if kind != "f32":
        same = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
        rounded = f"""  %re = tensor.empty() : {result}
  %r = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%s : {sums}) outs(%re : {result}) {{
  ^bb0(%p: f32, %q: {kind}):
    %t = arith.truncf %p : f32 to {kind}
    linalg.yield %t : {kind}
  }} -> {result}
"""
    return f"""func.func @convolution(%x: {x}, %w: {w}) -> {result} {{
  %c0 = arith.constant 0.0 : {kind}
  %zero = arith.constant 0.0 : f32
{lines}
  %se = tensor.empty() : {sums}
  %sz = linalg.fill ins(%zero : f32) outs(%se : {sums}) -> {sums}
  %s = linalg.conv_2d_nchw_fchw {{strides = dense<{step}> : tensor<2xi64>}} {weights} outs(%sz : {sums}) -> {sums}
{rounded}  return {"%r" if rounded else "%s"} : {result}
}}
"""


if __name__ == "__main__":
    sys.exit(family_rows.main(__doc__, rows()))
