# ===- networks.py - Parts of networks -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Normalisations, attention, losses, and layers put together."""

import torch
import torch.nn.functional as F
from torch import nn

from .program import Program, Programs

PROGRAMS = Programs()
add = PROGRAMS.add

NEAR = {"rtol": 1e-4, "atol": 1e-5}


@add((6, 33), **NEAR)
def softmaxes(x):
    return F.softmax(x, 1), F.log_softmax(x, 0), F.softmax(x * 40, 1)


@add((4, 7, 12), (12,), (12,), **NEAR)
def layer_norm(x, w, b):
    return F.layer_norm(x, (12,), w, b)


@add((2, 6, 5, 5), (6,), (6,), **NEAR)
def group_norm(x, w, b):
    return F.group_norm(x, 3, w, b), F.instance_norm(x)


@add((3, 4, 5), (4,), (4,), torch.linspace(0.5, 2, 4), **NEAR)
def batch_norm(x, mean, bias, variance):
    return F.batch_norm(x, mean, variance, variance, bias)


@add((4, 16), (16,), **NEAR)
def rms_norm(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


@add((2, 4, 9, 8), (2, 4, 9, 8), (2, 4, 9, 8), **NEAR)
def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@add((1, 2, 9, 8), **NEAR)
def causal_attention(q):
    scores = q @ q.transpose(-1, -2) / 8**0.5
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ q


@add((6, 10), torch.tensor([1, 9, 0, 3, 3, 7]), **NEAR)
def classification_losses(x, labels):
    return F.cross_entropy(x, labels), F.nll_loss(F.log_softmax(x, 1), labels)


@add((6, 10), (6, 10), **NEAR)
def regression_losses(x, y):
    return F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y, reduction="none")


@add((6, 10), torch.linspace(0, 1, 60).reshape(6, 10), **NEAR)
def binary_losses(x, y):
    return F.binary_cross_entropy_with_logits(x, y), F.kl_div(x, y, reduction="sum")


def modules():
    """Modules with weights of their own, in the module's text."""
    torch.manual_seed(3)
    made = {
        "perceptron": (
            nn.Sequential(
                nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.5), nn.Linear(24, 3)
            ),
            (5, 12),
        ),
        "small_cnn": (
            nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(8 * 16, 4),
            ),
            (2, 3, 8, 8),
        ),
        "transformer_layer": (
            nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu"),
            (2, 5, 16),
        ),
    }

    def inputs(shape):
        count = torch.Size(shape).numel()
        return lambda: (torch.linspace(-1, 1, count).reshape(shape),)

    return {
        name: Program(module, inputs(shape), **NEAR)
        for name, (module, shape) in made.items()
    }


PROGRAMS.update(modules())
