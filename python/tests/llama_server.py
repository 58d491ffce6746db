# ===- llama_server.py - llama.cpp's server and a model for it -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Serves a tiny model of random weights: python llama_server.py FOLDER KEY.

Prints the port when it answers requests; ends with its standard input. What the
model says means nothing, but it is printable, and a grammar can steer it.
"""

import pathlib
import sys
import time
import urllib.error
import urllib.request

import gguf
import numpy
import xllamacpp
from ports import free_port

WIDTH, INNER, LAYERS, HEADS, KV_HEADS = 64, 128, 2, 4, 2
CONTEXT, TRAINED_CONTEXT = 2048, 4096

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n"
    "{% endfor %}assistant: "
)


def vocabulary():
    """Tokens and their kinds: special ones, all bytes, what can be printed."""
    kinds = gguf.TokenType
    tokens = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL)]
    tokens.append(("</s>", kinds.CONTROL))
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [("\u2581", kinds.NORMAL)]
    tokens += [(chr(code), kinds.NORMAL) for code in range(33, 127)]
    return tokens


def write_model(path):
    random = numpy.random.default_rng(1)

    def matrix(rows, columns):
        values = random.standard_normal((rows, columns)) / numpy.sqrt(columns)
        return values.astype(numpy.float32)

    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(TRAINED_CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)

    # The first direction is large for every token, so that a column of the
    # output is a bias: towards what can be printed, away from bytes, seldom a
    # line break or the end.
    embedding = matrix(len(tokens), WIDTH)
    embedding[:, 0] = 4
    output = matrix(len(tokens), WIDTH)
    output[:, 0] = -2
    for number, (text, kind) in enumerate(tokens):
        if kind == gguf.TokenType.NORMAL:
            output[number, 0] = 0
        elif text == "<0x0A>":
            output[number, 0] = -0.3
        elif text == "</s>":
            output[number, 0] = -0.5
    ones = numpy.ones(WIDTH, numpy.float32)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    narrow = WIDTH // HEADS * KV_HEADS
    for layer in range(LAYERS):
        shapes = {
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (narrow, WIDTH),
            "attn_v": (narrow, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }
        for name, (rows, columns) in shapes.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix(rows, columns))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", ones)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve(path, key):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = free_port()
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Two on a busy machine of two cores wait for each other.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.model_alias = {"tiny"}
    parameters.warmup = False
    parameters.ui = False
    parameters.fit_params = False
    parameters.api_keys = [key]
    return xllamacpp.Server(parameters), parameters.port


def wait_until_ready(port, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
            return
        except (urllib.error.URLError, OSError):
            # 503 while it loads.
            time.sleep(0.05)
    raise TimeoutError("llama.cpp's server does not answer")


def main():
    folder, key = sys.argv[1:]
    path = pathlib.Path(folder) / "tiny.gguf"
    write_model(path)
    server, port = serve(path, key)
    wait_until_ready(port)
    print(f"port {port}", flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
