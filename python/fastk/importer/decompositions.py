# ===- decompositions.py - ATen ops rewritten before torch-mlir -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""ATen decompositions that replace torch-mlir's own.

torch-mlir lowers every op below, but in a form that is less exact or more
expensive than what PyTorch itself computes. The forms here follow PyTorch's
CPU kernels:

- ``gelu``: torch-mlir rounds sqrt(2) to f32 and writes sqrt(2/pi) as 0.797724
  (it is 0.797885). Here constants are f64 in the IR and rounded where they are
  used, so that the same IR promoted to f64 is exact.
- ``native_layer_norm``, ``native_group_norm``: torch-mlir's variance widens
  the whole tensor to f64. PyTorch's norm kernels do not; neither do we.
- batch norm in eval mode: torch-mlir's reciprocal asserts that no element is
  zero, inside the loop. Here: one multiply and one add per element, as in
  PyTorch's kernel.
- ``scaled_dot_product_attention``: the scores are scaled once, instead of query
  and key each; plain and causal attention, where no row is ever wholly masked,
  go without the scan for such rows. Weights are rounded to the type of the
  values, as PyTorch's flash kernels do on every device before they multiply.
"""

import math


def widened(torch, dtype):
    """The type PyTorch's kernels compute in: half types compute in f32."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def table():
    """Returns {op overload: function}, to be merged over torch-mlir's table."""
    import torch

    aten = torch.ops.aten

    def gelu(x, approximate="none"):
        dtype = x.dtype
        x = x.to(widened(torch, dtype))
        if approximate == "tanh":
            inner = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)
            y = x * 0.5 * (torch.tanh(inner) + 1.0)
        else:
            y = x * 0.5 * (torch.erf(x * math.sqrt(0.5)) + 1.0)
        return y.to(dtype)

    def normalise(x, dims, eps):
        """(x - mean) / sqrt(var + eps) over `dims`, with mean and 1/sqrt."""
        mean = x.mean(dims, keepdim=True)
        centred = x - mean
        variance = (centred * centred).mean(dims, keepdim=True)
        rstd = torch.rsqrt(variance + eps)
        return centred * rstd, mean, rstd

    def native_layer_norm(x, normalized_shape, weight, bias, eps):
        dtype = x.dtype
        wide = widened(torch, dtype)
        dims = list(range(x.dim() - len(normalized_shape), x.dim()))
        y, mean, rstd = normalise(x.to(wide), dims, eps)
        if weight is not None:
            y = y * weight.to(wide)
        if bias is not None:
            y = y + bias.to(wide)
        return y.to(dtype), mean, rstd

    def native_group_norm(x, weight, bias, n, c, hxw, groups, eps):
        dtype = x.dtype
        wide = widened(torch, dtype)
        rows = x.to(wide).reshape(n, groups, (c // groups) * hxw)
        y, mean, rstd = normalise(rows, [2], eps)
        y = y.reshape(x.shape)
        per_channel = [c] + [1] * (x.dim() - 2)
        if weight is not None:
            y = y * weight.to(wide).reshape(per_channel)
        if bias is not None:
            y = y + bias.to(wide).reshape(per_channel)
        return y.to(dtype), mean.reshape(n, groups), rstd.reshape(n, groups)

    def batch_norm_inference(x, weight, bias, mean, var, momentum, eps):
        dtype = x.dtype
        wide = widened(torch, dtype)
        scale = torch.rsqrt(var.to(wide) + eps)
        if weight is not None:
            scale = scale * weight.to(wide)
        shift = -mean.to(wide) * scale
        if bias is not None:
            shift = bias.to(wide) + shift
        per_channel = [x.shape[1]] + [1] * (x.dim() - 2)
        y = x.to(wide) * scale.reshape(per_channel) + shift.reshape(per_channel)
        empty = x.new_empty((0,), dtype=wide)
        return y.to(dtype), empty, empty

    def attention(
        query,
        key,
        value,
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        *,
        scale=None,
        enable_gqa=False,
    ):
        dtype = query.dtype
        wide = widened(torch, dtype)
        query, key, value = query.to(wide), key.to(wide), value.to(wide)
        if enable_gqa:
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
            value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
        if scale is None:
            scale = 1.0 / math.sqrt(query.shape[-1])
        scores = query @ key.transpose(-2, -1) * scale
        if is_causal:
            row = torch.arange(query.shape[-2], device=query.device).unsqueeze(1)
            column = torch.arange(key.shape[-2], device=query.device).unsqueeze(0)
            scores = torch.where(column <= row, scores, float("-inf"))
        if attn_mask is None:
            weights = torch.softmax(scores, -1)
        else:
            if attn_mask.dtype == torch.bool:
                scores = torch.where(attn_mask, scores, float("-inf"))
            else:
                scores = scores + attn_mask.to(wide)
            # A mask may hide a whole row, which is zero then.
            weights = aten._safe_softmax(scores, -1)
        if dropout_p != 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        return (weights.to(dtype).to(wide) @ value).to(dtype)

    return {
        aten.gelu.default: gelu,
        aten.native_layer_norm.default: native_layer_norm,
        aten.native_group_norm.default: native_group_norm,
        aten._native_batch_norm_legit_no_training.default: batch_norm_inference,
        aten.scaled_dot_product_attention.default: attention,
    }
