# ===- convolutions.py - Convolutions of many kinds -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Convolutions for host_default.py: sizes of image models, and kinds that they have."""

import torch


def _plain(batch, channels, size, filters, window, **options):
    def build():
        torch.manual_seed(0)
        options.setdefault("padding", window // 2)
        module = torch.nn.Conv2d(channels, filters, window, **options)
        return module.eval(), (torch.randn(batch, channels, size, size),)

    return build


def _transposed(batch, channels, size, filters, window, **options):
    def build():
        torch.manual_seed(0)
        module = torch.nn.ConvTranspose2d(channels, filters, window, **options)
        return module.eval(), (torch.randn(batch, channels, size, size),)

    return build


window3_56 = _plain(1, 64, 56, 64, 3)
window3_28 = _plain(1, 128, 28, 128, 3)
window3_14 = _plain(1, 256, 14, 256, 3)
window3_7 = _plain(1, 512, 7, 512, 3)
window3_112_batch4 = _plain(4, 32, 112, 32, 3)
window5_30_batch8 = _plain(8, 16, 30, 32, 5)
window3_56_stride2 = _plain(1, 64, 56, 128, 3, stride=2)
window3_28_stride2 = _plain(1, 128, 28, 256, 3, stride=2)
window7_224_stride2 = _plain(1, 3, 224, 64, 7, stride=2)
window11_224_stride4 = _plain(2, 3, 224, 96, 11, stride=4, padding=2)
window1_56 = _plain(1, 64, 56, 256, 1)
window1_14 = _plain(1, 1024, 14, 256, 1)
window1_56_stride2 = _plain(1, 256, 56, 512, 1, stride=2)
window3_56_dilated = _plain(1, 64, 56, 64, 3, padding=2, dilation=2)
window3_56_8groups = _plain(2, 64, 56, 64, 3, groups=8)
window3_56_depthwise = _plain(2, 96, 56, 96, 3, groups=96)
window3_56_depthwise_stride2 = _plain(2, 96, 56, 96, 3, groups=96, stride=2)
transposed4_28_stride2 = _transposed(2, 64, 28, 32, 4, stride=2, padding=1)
transposed3_32 = _transposed(2, 32, 32, 64, 3)

#: In the order of a table.
ALL = [name for name in list(globals()) if name.startswith(("window", "transposed"))]
