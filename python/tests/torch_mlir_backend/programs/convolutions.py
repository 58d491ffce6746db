# ===- convolutions.py - Convolutions and pooling -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Convolutions and pooling."""

import torch.nn.functional as F

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

NEAR = {"rtol": 1e-4, "atol": 1e-5}


@add((2, 3, 9, 8), (5, 3, 3, 3), (5,), **NEAR)
def convolution(x, w, b):
    return F.conv2d(x, w, b, padding=1)


@add((1, 4, 11, 11), (6, 4, 3, 3), **NEAR)
def strided_and_dilated(x, w):
    return F.conv2d(x, w, stride=2), F.conv2d(x, w, dilation=2, padding=2)


@add((1, 4, 8, 8), (8, 2, 3, 3), (4, 1, 3, 3), **NEAR)
def grouped_and_depthwise(x, grouped, depthwise):
    return F.conv2d(x, grouped, groups=2), F.conv2d(x, depthwise, groups=4)


@add((1, 3, 20), (4, 3, 5), (1, 2, 4, 5, 6), (3, 2, 2, 2, 2), **NEAR)
def one_and_three_dimensions(x, w, y, v):
    return F.conv1d(x, w, padding=2), F.conv3d(y, v)


@add((1, 3, 5, 5), (3, 2, 3, 3), **NEAR)
def transposed(x, w):
    return F.conv_transpose2d(x, w, stride=2, padding=1)


@add((2, 3, 9, 9))
def max_pooling(x):
    return F.max_pool2d(x, 3, stride=2, padding=1)


@add((2, 3, 9, 9))
def average_pooling(x):
    return F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 3)


@add((1, 2, 12))
def pooling_of_signals(x):
    return F.max_pool1d(x, 3), F.avg_pool1d(x, 4, stride=2)


@add((1, 2, 4, 5))
def upsampling(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")


@add((1, 2, 5, 6))
def padding(x):
    return F.pad(x, (1, 2, 0, 3)), F.pad(x, (2, 1, 1, 1), mode="reflect")
