# ===- whole_models.py - The models that models.py measures -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Whole models with random weights, from transformers' configurations.

    python -m fastk.importer benchmarks/whole_models.py:gpt2 -o gpt2.mlir

NAME is the model at its real size, NAME_small a copy of 2 layers and a hidden
size of 64 that tests compile. The language models are given what a tokenizer
gives: the ids of one sequence and its attention mask. The results are logits.
"""

import torch
import transformers


class Logits(torch.nn.Module):
    """A model's logits, and none of what else it returns."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs, return_dict=False)[0]


class LanguageLogits(Logits):
    """The same of ids and a mask, without a cache of keys and values."""

    def forward(self, input_ids, attention_mask):
        return self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            use_cache=False,
            return_dict=False,
        )[0]


def _language(model, vocabulary, length):
    """(module, example inputs) of a language model, on one sequence."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, vocabulary, (1, length), generator=generator)
    return LanguageLogits(model).eval(), (ids, torch.ones(1, length, dtype=torch.int64))


def _gpt2(length, **sizes):
    config = transformers.GPT2Config(**sizes)
    return _language(transformers.GPT2LMHeadModel(config), config.vocab_size, length)


def _bert(length, **sizes):
    config = transformers.BertConfig(**sizes)
    return _language(transformers.BertForMaskedLM(config), config.vocab_size, length)


def _llama(length, **sizes):
    config = transformers.LlamaConfig(**sizes)
    return _language(transformers.LlamaForCausalLM(config), config.vocab_size, length)


def _resnet(pixels, layer_type="basic", **sizes):
    config = transformers.ResNetConfig(
        layer_type=layer_type, downsample_in_first_stage=False, **sizes
    )
    model = transformers.ResNetForImageClassification(config)
    return Logits(model).eval(), (torch.randn(1, 3, pixels, pixels),)


def gpt2():
    """GPT-2 of 124 million parameters: 12 layers, 768 wide."""
    return _gpt2(128)


def bert_base():
    """BERT-base with its head for masked words: 12 layers, 768 wide."""
    return _bert(128)


def resnet18():
    """ResNet-18 on one picture of ImageNet's size, with its 1000 classes."""
    return _resnet(
        224, embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2],
        num_labels=1000,
    )


def resnet50():
    """ResNet-50 on one picture of ImageNet's size, with its 1000 classes."""
    return _resnet(
        224, "bottleneck", embedding_size=64, hidden_sizes=[256, 512, 1024, 2048],
        depths=[3, 4, 6, 3], num_labels=1000,
    )  # fmt: skip


def resnet50_f16():
    """The same in half precision."""
    model, inputs = resnet50()
    return model.half(), tuple(each.half() for each in inputs)


def llama():
    """A small Llama of 51 million parameters, with grouped queries: 8 layers, 512 wide."""
    return _llama(
        128, vocab_size=32000, hidden_size=512, intermediate_size=1408,
        num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4,
    )


class ResidualBlock(torch.nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.norms = torch.nn.ModuleList(
            torch.nn.GroupNorm(32, size) for size in (before, after)
        )
        self.convs = torch.nn.ModuleList(
            torch.nn.Conv2d(size, after, 3, padding=1) for size in (before, after)
        )
        self.skip = torch.nn.Conv2d(before, after, 1)

    def forward(self, x):
        y = x
        for norm, conv in zip(self.norms, self.convs):
            y = conv(torch.nn.functional.silu(norm(y)))
        return self.skip(x) + y


class PixelAttention(torch.nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.norm = heads, torch.nn.GroupNorm(32, size)
        self.mix, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)

    def forward(self, x):
        pixels = self.norm(x).flatten(2).transpose(1, 2)
        parts = self.mix(pixels).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(*parts)
        seen = self.out(seen.transpose(1, 2).flatten(-2))
        return x + seen.transpose(1, 2).reshape(x.shape)


def unet_stage():
    """A stage of a U-Net for pictures, as diffusion models have them."""
    torch.manual_seed(1)
    stage = torch.nn.Sequential(
        ResidualBlock(320, 640), PixelAttention(640, 8),
        ResidualBlock(640, 640), PixelAttention(640, 8),
    )  # fmt: skip
    return stage.eval(), (torch.randn(1, 320, 32, 32),)


def gpt2_small():
    return _gpt2(13, n_layer=2, n_embd=64, n_head=4, n_positions=32, vocab_size=211)


def bert_base_small():
    return _bert(
        13, num_hidden_layers=2, hidden_size=64, num_attention_heads=4,
        intermediate_size=256, vocab_size=211, max_position_embeddings=32,
    )


def resnet18_small():
    return _resnet(
        40, embedding_size=16, hidden_sizes=[16, 64], depths=[1, 1], num_labels=10
    )


def llama_small():
    return _llama(
        13, vocab_size=211, hidden_size=64, intermediate_size=176,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    )
