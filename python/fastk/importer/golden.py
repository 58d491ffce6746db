# ===- golden.py - The models behind the golden inputs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The models whose imports are the golden inputs of the test tree.

Each function returns ``(module, example_inputs)`` as ``python -m
fastk.importer golden.py:NAME`` wants it. ``scripts/regenerate-golden.py``
imports them all into ``test/Inputs/golden``.

NAME is the operator at the size it is benchmarked at; NAME_small is the same
operator at an odd size that a CPU runs in milliseconds, with a window, stride
and head size that no rounding hides (1/sqrt(24) is no binary fraction).
"""

import torch
import torch.nn.functional as F
from torch import nn

#: Every golden input, in the order they are generated. Filled by @_golden.
NAMES = []


def _golden(build):
    NAMES.append(build.__name__)
    return build


# The modules that torch.nn does not have.


class Matmul(nn.Module):
    """(M, K) @ (K, N)."""

    def forward(self, a, b):
        return torch.matmul(a, b)


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d)) V on (batch, heads, tokens, d)."""

    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)


class BasicBlock(nn.Module):
    """ResNet's basic block with an identity shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + x)


class TransformerBlock(nn.Module):
    """GPT-2's block: pre-norm, causal attention, MLP with tanh-GELU."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.ln1(x)).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


# Builders shared by the sizes of one operator.


def _matmul(m, k, n, dtype=torch.float32):
    return Matmul(), (torch.randn(m, k, dtype=dtype), torch.randn(k, n, dtype=dtype))


def _attention(shape, causal):
    return Attention(causal), tuple(
        torch.randn(shape, dtype=torch.float16) for _ in range(3)
    )


def _conv(conv, shape, *rest):
    return nn.Sequential(conv, *rest) if rest else conv, (torch.randn(shape),)


def _norm(shape, normalized):
    return nn.LayerNorm(normalized), (torch.randn(shape),)


def _mlp(rows, inner, hidden, outer):
    return (
        nn.Sequential(nn.Linear(inner, hidden), nn.GELU(), nn.Linear(hidden, outer)),
        (torch.randn(rows, inner),),
    )


def _linear_gelu(rows, inner, outer):
    return nn.Sequential(nn.Linear(inner, outer), nn.GELU()), (
        torch.randn(rows, inner),
    )


# The seven operators.


@_golden
def matmul_f32():
    return _matmul(4096, 4096, 4096)


@_golden
def matmul_f32_small():
    return _matmul(48, 80, 56)


@_golden
def conv2d():
    return _conv(nn.Conv2d(3, 96, 11, stride=4, padding=2), (100, 3, 224, 224))


@_golden
def conv2d_small():
    return _conv(nn.Conv2d(3, 10, 5, stride=3, padding=2), (2, 3, 29, 23))


@_golden
def conv2d_relu_maxpool():
    return _conv(
        nn.Conv2d(3, 96, 11, stride=4, padding=2),
        (100, 3, 224, 224),
        nn.ReLU(),
        nn.MaxPool2d(3, 2),
    )


@_golden
def conv2d_relu_maxpool_small():
    return _conv(
        nn.Conv2d(3, 10, 5, stride=3, padding=2),
        (2, 3, 29, 23),
        nn.ReLU(),
        nn.MaxPool2d(3, 2),
    )


@_golden
def softmax():
    return nn.Softmax(dim=1), (torch.randn(4096, 65536),)


@_golden
def softmax_small():
    return nn.Softmax(dim=1), (torch.randn(23, 157),)


@_golden
def layernorm():
    return _norm((16, 64, 256, 256), (64, 256, 256))


@_golden
def layernorm_small():
    return _norm((3, 5, 7, 9), (5, 7, 9))


@_golden
def matmul_f16():
    return _matmul(4096, 4096, 4096, torch.float16)


@_golden
def matmul_f16_small():
    return _matmul(48, 80, 56, torch.float16)


@_golden
def attention_f16():
    return _attention((4, 32, 4096, 128), causal=False)


@_golden
def attention_f16_small():
    return _attention((2, 3, 40, 24), causal=False)


@_golden
def attention_causal_f16():
    return _attention((4, 32, 4096, 128), causal=True)


@_golden
def attention_causal_f16_small():
    return _attention((2, 3, 40, 24), causal=True)


# Models.


@_golden
def mlp():
    return _mlp(512, 768, 3072, 768)


@_golden
def mlp_small():
    return _mlp(20, 24, 52, 28)


@_golden
def resnet_block():
    return BasicBlock(64).eval(), (torch.randn(1, 64, 56, 56),)


@_golden
def resnet_block_small():
    return BasicBlock(6).eval(), (torch.randn(2, 6, 9, 7),)


@_golden
def transformer_block():
    return TransformerBlock(768, 12).eval(), (torch.randn(4, 128, 768),)


@_golden
def transformer_block_small():
    return TransformerBlock(24, 3).eval(), (torch.randn(2, 10, 24),)


# Sizes that are benchmarked on a CPU against torch eager.


@_golden
def matmul_1024_f32():
    return _matmul(1024, 1024, 1024)


@_golden
def softmax_4096():
    return nn.Softmax(dim=1), (torch.randn(4096, 4096),)


@_golden
def layernorm_4096():
    return _norm((4096, 4096), 4096)


@_golden
def layernorm_4096_small():
    return _norm((19, 45), 45)


@_golden
def linear_gelu():
    return _linear_gelu(512, 768, 3072)


@_golden
def linear_gelu_small():
    return _linear_gelu(20, 24, 52)


@_golden
def conv3x3():
    return _conv(nn.Conv2d(64, 64, 3, padding=1), (1, 64, 56, 56))


@_golden
def conv3x3_small():
    return _conv(nn.Conv2d(6, 8, 3, padding=1), (1, 6, 11, 7))
