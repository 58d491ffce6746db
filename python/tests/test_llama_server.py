# ===- test_llama_server.py - llama.cpp's own server -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A real server, with a tiny model of random weights, takes our requests."""

import json
import subprocess
import sys

import pytest
from conftest import PYTHON
from models import KEY, ask

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}},
    "required": ["ok", "n"],
    "additionalProperties": False,
}

#: The base URL's path by provider.
WIRES = {"openai-chat": "/v1", "openai": "/v1", "anthropic": "", "ollama": "/v1"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    command = [sys.executable, PYTHON / "tests" / "llama_server.py", folder, KEY]
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    # Without a port it has ended, and said why.
    line = next((line for line in process.stdout if line.startswith("port ")), "")
    assert line, log.read_text()
    yield f"http://127.0.0.1:{line.split()[1]}"
    process.stdin.close()
    process.wait(timeout=60)


def model(base, provider, options=""):
    place = base + WIRES[provider]
    return f"{provider}:tiny?base_url={place}&key_env=TEST_KEY{options}"


@pytest.mark.parametrize("provider", WIRES)
def test_a_reply_is_cut_at_its_limit(base, provider):
    reply = ask(
        model(base, provider, "&max_tokens=12&temperature=0.8"),
        "Say something.",
        system="Be brief.",
    )
    # Random weights hardly ever end a text within twelve tokens.
    assert reply["status"] == "truncated", reply
    assert reply["text"]
    usage = reply["usage"]
    assert usage["attempts"] == 1
    assert not usage["estimated"]
    assert usage["input_tokens"] > 10
    assert usage["output_tokens"] == 12


def test_a_grammar_makes_the_schema_hold(base):
    reply = ask(
        model(base, "openai-chat", "&max_tokens=200"), "Answer.", schema=SCHEMA
    )
    assert reply["status"] == "complete", reply
    answer = json.loads(reply["text"])
    assert set(answer) == {"ok", "n"}
    assert isinstance(answer["ok"], bool)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_schema_is_taken_where_it_is_not_enforced(base, provider):
    reply = ask(
        model(base, provider, "&max_tokens=12"), "Answer.", schema=SCHEMA
    )
    assert reply["status"] in ("complete", "truncated"), reply


@pytest.mark.parametrize("provider", WIRES)
def test_an_overlong_prompt_is_named(base, provider):
    reply = ask(model(base, provider, "&max_tokens=12"), "word " * 4000)
    assert reply["failure"] == "context_too_long", reply
    assert reply["usage"]["attempts"] == 1


@pytest.mark.parametrize("provider", WIRES)
def test_a_missing_key_is_named(base, provider):
    reply = ask(model(base, provider).replace("TEST_KEY", "-"), "Hello")
    assert reply["failure"] == "auth", reply
    assert reply["usage"]["attempts"] == 1


def test_what_the_server_does_not_take_is_its_users_to_mend(base):
    reply = ask(model(base, "openai-chat", '&body={"n":2}'), "Hello")
    assert reply["failure"] == "bad_request", reply
