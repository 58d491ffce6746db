# ===- operators.py - Operators of many kinds -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Operators beside convolutions for host_default.py: one or more of each kind, in f32.

Sizes are such that a call takes a fraction of a millisecond to some milliseconds on two
processors, and are no other benchmark's.
"""

import torch
import torch.nn.functional as F


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def _of(function, *shapes):
    """A module that applies `function` to random tensors of `shapes`."""

    def build():
        torch.manual_seed(0)
        return _Function(function), tuple(torch.randn(*shape) for shape in shapes)

    return build


def _layer(make, *shapes):
    """The layer that `make` makes, as in inference."""

    def build():
        torch.manual_seed(0)
        inputs = tuple(torch.randn(*shape) for shape in shapes)
        return make().eval(), inputs

    return build


def _classes(function, rows, classes):
    """A loss of `rows` rows of `classes` classes."""

    def build():
        torch.manual_seed(0)
        return _Function(function), (torch.randn(rows, classes), torch.randint(classes, (rows,)))

    return build


def _taken(make, rows, *shape):
    """A layer that takes rows of a table by number."""

    def build():
        torch.manual_seed(0)
        return make().eval(), (torch.randint(rows, shape),)

    return build


# Products.
product_384 = _of(torch.matmul, (384, 384), (384, 384))
product_odd = _of(torch.matmul, (311, 277), (277, 353))
product_transposed_left = _of(lambda a, b: a.T @ b, (512, 256), (512, 320))
product_transposed_right = _of(lambda a, b: a @ b.T, (256, 512), (320, 512))
product_transposed_both = _of(lambda a, b: a.T @ b.T, (512, 256), (320, 512))
product_batch = _of(torch.bmm, (24, 96, 64), (24, 64, 96))
product_long_k = _of(torch.matmul, (48, 20000), (20000, 32))
product_thin_k = _of(torch.matmul, (1500, 24), (24, 1500))
product_thin_columns = _of(torch.matmul, (6000, 512), (512, 12))
product_one_row = _of(torch.matmul, (1, 2048), (2048, 3000))
product_vector = _of(torch.mv, (3000, 2000), (2000,))
product_4d = _of(lambda a, b: torch.einsum("bijl,lk->bijk", a, b), (4, 24, 40, 96), (96, 160))
product_diagonal = _of(lambda a, b: a[:, None] * b, (2000,), (2000, 900))
product_triangle = _of(lambda a, b: torch.tril(a @ b), (384, 384), (384, 384))
linear_gelu = _layer(
    lambda: torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU()), (192, 256)
)

# Rows.
softmax_rows = _of(lambda x: torch.softmax(x, -1), (768, 1500))
softmax_long = _of(lambda x: torch.softmax(x, -1), (12, 120000))
log_softmax_rows = _of(lambda x: torch.log_softmax(x, -1), (768, 1500))
softmax_columns = _of(lambda x: torch.softmax(x, 1), (8, 150, 900))
layer_norm = _layer(lambda: torch.nn.LayerNorm(768), (1000, 768))
layer_norm_image = _layer(lambda: torch.nn.LayerNorm((24, 56, 56)), (8, 24, 56, 56))
rms_norm = _layer(lambda: torch.nn.RMSNorm(1024), (900, 1024))
group_norm = _layer(lambda: torch.nn.GroupNorm(8, 64), (8, 64, 48, 48))
instance_norm = _layer(lambda: torch.nn.InstanceNorm2d(48), (8, 48, 56, 56))
batch_norm = _layer(lambda: torch.nn.BatchNorm2d(48), (8, 48, 56, 56))
norm_frobenius = _of(lambda x: x / torch.linalg.norm(x), (48, 20000))
norm_l1 = _of(lambda x: x / x.abs().mean(1, keepdim=True), (900, 1200))
norm_l2 = _of(lambda x: F.normalize(x, dim=1), (900, 1200))

# Reductions and scans.
sum_rows = _of(lambda x: x.sum(-1), (900, 1300))
sum_columns = _of(lambda x: x.sum(0), (1300, 900))
sum_middle = _of(lambda x: x.sum(1), (12, 300, 310))
mean_middle = _of(lambda x: x.mean(1), (12, 300, 310))
max_rows = _of(lambda x: x.amax(-1), (900, 1300))
min_middle = _of(lambda x: x.amin(1), (12, 300, 310))
product_rows = _of(lambda x: x.prod(-1), (900, 1300))
argmax_rows = _of(lambda x: x.argmax(-1), (900, 1300))
argmin_middle = _of(lambda x: x.argmin(1), (12, 300, 310))
cumsum_rows = _of(lambda x: x.cumsum(1), (300, 3000))
cumsum_columns = _of(lambda x: x.cumsum(0), (3000, 300))
cumprod_rows = _of(lambda x: x.cumprod(1), (300, 3000))
logsumexp = _of(lambda x: torch.logsumexp(x, 1), (900, 1300))
variance = _of(lambda x: x.var(-1), (900, 1300))

# Windows.
max_pool_2d = _layer(lambda: torch.nn.MaxPool2d(3, 2, 1), (4, 48, 96, 96))
max_pool_2d_large = _layer(lambda: torch.nn.MaxPool2d(5, 1, 2, dilation=2), (4, 24, 64, 64))
max_pool_1d = _layer(lambda: torch.nn.MaxPool1d(6, 3), (12, 96, 1800))
max_pool_3d = _layer(lambda: torch.nn.MaxPool3d(3, 2, 1), (2, 24, 24, 40, 40))
average_pool_2d = _layer(lambda: torch.nn.AvgPool2d(7), (4, 48, 98, 98))
average_pool_1d = _layer(lambda: torch.nn.AvgPool1d(6, 1, 3), (12, 48, 1800))
average_pool_3d = _layer(lambda: torch.nn.AvgPool3d(3, 2, 1), (2, 24, 24, 40, 40))
average_all = _layer(lambda: torch.nn.AdaptiveAvgPool2d(1), (8, 192, 28, 28))

# One element of each operand.
relu = _of(torch.relu, (1500, 1500))
gelu = _of(F.gelu, (1000, 1000))
gelu_tanh = _of(lambda x: F.gelu(x, approximate="tanh"), (1000, 1000))
sigmoid = _of(torch.sigmoid, (1000, 1000))
tanh = _of(torch.tanh, (1000, 1000))
softplus = _of(F.softplus, (1000, 1000))
elu = _of(F.elu, (1000, 1000))
hardsigmoid = _of(F.hardsigmoid, (1500, 1500))
swish = _of(lambda x: x * torch.sigmoid(x), (1000, 1000))
mish = _of(F.mish, (1000, 1000))
logarithm = _of(lambda x: torch.log(x.abs() + 0.1), (1000, 1000))
sine = _of(torch.sin, (1000, 1000))
add_broadcast = _of(lambda x, b: x + b[:, None, None], (8, 48, 60, 60), (48,))
permuted = _of(lambda x: x.permute(0, 2, 3, 1).contiguous(), (8, 64, 56, 56))
transposed = _of(lambda x: x.T.contiguous(), (1500, 1100))
joined = _of(lambda x, y: torch.cat([x, y], 1), (8, 48, 56, 56), (8, 24, 56, 56))
upsampled_nearest = _layer(lambda: torch.nn.Upsample(scale_factor=2), (4, 32, 48, 48))
upsampled_bilinear = _layer(
    lambda: torch.nn.Upsample(scale_factor=2, mode="bilinear"), (4, 32, 48, 48)
)
taken_rows = _taken(lambda: torch.nn.Embedding(20000, 256), 20000, 24, 128)

# Losses.
loss_squares = _of(F.mse_loss, (900, 1300), (900, 1300))
loss_huber = _of(F.smooth_l1_loss, (900, 1300), (900, 1300))
loss_cross_entropy = _classes(F.cross_entropy, 6000, 120)
loss_divergence = _of(
    lambda x, y: F.kl_div(torch.log_softmax(x, 1), torch.softmax(y, 1), reduction="batchmean"),
    (500, 1000),
    (500, 1000),
)
loss_cosine = _of(lambda x, y: (1 - F.cosine_similarity(x, y, 1)).mean(), (900, 1300), (900, 1300))
loss_hinge = _of(lambda x, y: (1 - x * y.sign()).clamp(min=0).mean(), (900, 1300), (1300,))
loss_triplet = _of(F.triplet_margin_loss, (600, 900), (600, 900), (600, 900))

# Attention: batch, heads, queries or keys, size of a head.
attention = _of(F.scaled_dot_product_attention, *[(2, 6, 256, 64)] * 3)
attention_causal = _of(
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[(2, 6, 256, 64)] * 3,
)
attention_decoding = _of(
    F.scaled_dot_product_attention, (4, 8, 1, 64), (4, 8, 1500, 64), (4, 8, 1500, 64)
)

# Convolutions that have no images.
signal5 = _layer(lambda: torch.nn.Conv1d(64, 96, 5, padding=2), (4, 64, 900))
signal3_dilated = _layer(lambda: torch.nn.Conv1d(48, 96, 3, stride=2, dilation=4), (4, 48, 1800))
volume3 = _layer(lambda: torch.nn.Conv3d(8, 24, 3, padding=1), (1, 8, 20, 36, 36))
signal_transposed4 = _layer(
    lambda: torch.nn.ConvTranspose1d(64, 48, 4, stride=2, padding=1), (4, 64, 500)
)
volume_transposed3 = _layer(lambda: torch.nn.ConvTranspose3d(12, 16, 3, stride=2), (1, 12, 10, 16, 16))

#: In the order of a table.
ALL = [
    name
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and name[0] != "_"
]
