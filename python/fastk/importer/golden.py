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
and head size that no rounding hides (1/sqrt(24) is no binary fraction). Operators
that are here for breadth alone have the small size only.
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


class Function(nn.Module):
    """A function of tensors, where a module would say no more."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


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


class GatedMlp(nn.Module):
    """LLaMA's MLP: silu(gate) * up, then down, without biases."""

    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


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


# Breadth: what real models hold besides, at sizes that no tile divides.


@_golden
def matmul_odd_small():
    return _matmul(37, 53, 71)


@_golden
def matmul_transposed_bias_silu_small():
    return Function(lambda a, b, bias: F.silu(a.T @ b + bias)), (
        torch.randn(53, 37),
        torch.randn(53, 71),
        torch.randn(71),
    )


@_golden
def batch_matmul_f16_small():
    return Function(torch.bmm), (
        torch.randn(3, 19, 37, dtype=torch.float16),
        torch.randn(3, 37, 23, dtype=torch.float16),
    )


@_golden
def matvec_small():
    return Function(torch.mv), (torch.randn(37, 53), torch.randn(53))


@_golden
def gated_mlp_small():
    return GatedMlp(24, 52), (torch.randn(20, 24),)


@_golden
def attention_mask_small():
    """Cross-attention: other lengths of query and key, an additive mask."""
    return Function(
        lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    ), (
        torch.randn(2, 3, 10, 24),
        torch.randn(2, 3, 14, 24),
        torch.randn(2, 3, 14, 20),
        torch.randn(10, 14),
    )


@_golden
def rotary_embedding_small():
    def rotate(x, cos, sin):
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat((-high, low), -1) * sin

    return Function(rotate), (
        torch.randn(2, 3, 10, 24),
        torch.randn(10, 24),
        torch.randn(10, 24),
    )


@_golden
def grouped_conv_small():
    return _conv(nn.Conv2d(6, 10, 3, stride=2, padding=1, groups=2), (2, 6, 13, 11))


@_golden
def depthwise_conv_small():
    return _conv(nn.Conv2d(7, 7, 3, padding=1, groups=7), (2, 7, 13, 11))


@_golden
def dilated_conv_small():
    return _conv(nn.Conv2d(5, 7, 3, padding=2, dilation=2), (2, 5, 13, 11))


@_golden
def conv1d_small():
    return _conv(nn.Conv1d(5, 7, 5, padding=2), (2, 5, 29))


@_golden
def conv3d_small():
    return _conv(nn.Conv3d(3, 4, 3, padding=1), (1, 3, 5, 6, 7))


@_golden
def transposed_conv_small():
    return _conv(
        nn.ConvTranspose2d(5, 4, 3, stride=2, padding=1, output_padding=1),
        (2, 5, 7, 6),
    )


@_golden
def inverted_residual_small():
    """MobileNet's block: expand, depthwise, project, each with its norm."""
    return nn.Sequential(
        nn.Conv2d(4, 12, 1, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU6(),
        nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU6(),
        nn.Conv2d(12, 5, 1, bias=False),
        nn.BatchNorm2d(5),
    ).eval(), (torch.randn(2, 4, 9, 7),)


@_golden
def maxpool_small():
    return nn.MaxPool2d(3, 2, 1), (torch.randn(2, 5, 13, 11),)


@_golden
def avgpool_small():
    return nn.AvgPool2d(3, 2, 1), (torch.randn(2, 5, 13, 11),)


@_golden
def avgpool_without_padding_small():
    """Windows at the border divide by fewer elements."""
    return nn.AvgPool2d(3, 2, 1, count_include_pad=False), (torch.randn(2, 5, 13, 11),)


@_golden
def upsample_small():
    return nn.Upsample(scale_factor=2, mode="nearest"), (torch.randn(2, 3, 5, 7),)


@_golden
def batchnorm_small():
    return nn.BatchNorm2d(5).eval(), (torch.randn(3, 5, 7, 9),)


@_golden
def groupnorm_small():
    return nn.GroupNorm(3, 6), (torch.randn(2, 6, 7, 5),)


@_golden
def rmsnorm_small():
    return nn.RMSNorm(45), (torch.randn(19, 45),)


@_golden
def column_sum_small():
    return Function(lambda x: x.sum(0)), (torch.randn(53, 37),)


@_golden
def column_max_small():
    return Function(lambda x: x.amax(0)), (torch.randn(53, 37),)


@_golden
def mean_of_outer_dimensions_small():
    return Function(lambda x: x.mean((0, 2))), (torch.randn(13, 37, 11),)


@_golden
def total_small():
    return Function(torch.sum), (torch.randn(53, 37),)


@_golden
def standard_deviation_small():
    return Function(lambda x: x.std(1)), (torch.randn(23, 57),)


@_golden
def log_softmax_small():
    return nn.LogSoftmax(1), (torch.randn(23, 157),)


@_golden
def cross_entropy_small():
    return nn.CrossEntropyLoss(), (torch.randn(23, 57), torch.arange(23) * 5 % 57)


@_golden
def embedding_small():
    return nn.Embedding(31, 17), (torch.arange(35).reshape(5, 7) * 11 % 31,)


@_golden
def elementwise_small():
    return Function(
        lambda x, y: torch.tanh(x) * torch.sigmoid(y) + torch.exp(-x.abs())
    ), (
        torch.randn(23, 57),
        torch.randn(57),
    )


@_golden
def where_small():
    return Function(lambda x, y: torch.where(x > 0, x, 0.1 * y)), (
        torch.randn(23, 57),
        torch.randn(23, 57),
    )


@_golden
def hardswish_small():
    return nn.Hardswish(), (torch.randn(2, 3, 5, 7),)


@_golden
def permute_small():
    return Function(lambda x: x.transpose(1, 2).contiguous()), (
        torch.randn(5, 23, 57),
    )
