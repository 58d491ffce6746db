# ===- test_model_wires.py - Our wires and the providers' own -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The providers' own libraries are the witnesses: the scripted server's replies
are what they accept, and our requests are what they would send."""

import anthropic
import openai
import pytest
from google import genai
from models import KEY, ask, load_scripted_server
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

scripted_server = load_scripted_server()

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}

TYPES = {
    "chat": ChatCompletion,
    "responses": Response,
    "anthropic": anthropic.types.Message,
    "gemini": genai.types.GenerateContentResponse,
}


@pytest.fixture
def server():
    server = scripted_server.Server()
    yield server
    server.shutdown()
    server.server_close()


def url(server, path=""):
    return f"http://127.0.0.1:{server.port}{path}"


def openai_client(server):
    return openai.OpenAI(base_url=url(server, "/v1"), api_key=KEY, max_retries=0)


def anthropic_client(server):
    return anthropic.Anthropic(base_url=url(server), api_key=KEY, max_retries=0)


def gemini_client(server):
    options = genai.types.HttpOptions(
        base_url=url(server),
        api_version="v1beta",
        retry_options=genai.types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=KEY, http_options=options)


def body_by(server, send):
    """The path and body of the one request that `send` makes."""
    server.script.set([])
    send()
    (request,) = server.script.log()["requests"]
    return request["path"], request["body"]


def body_by_fastk(server, provider, path="", options="", **prompt):
    """The same for fastk's client."""
    model = f"{provider}:m?base_url={url(server, path)}&key_env=TEST_KEY{options}"

    def send():
        reply = ask(model, "U", system="S", **prompt)
        assert reply["status"] == "complete", reply
        assert reply["text"] == "Hello."

    return body_by(server, send)


@pytest.mark.parametrize("ending", ["ok", "truncated", "refusal", "content_filter"])
@pytest.mark.parametrize("wire", scripted_server.WIRES)
def test_scripted_replies_are_of_the_libraries_types(wire, ending):
    body = scripted_server.body_of(wire, "T", ending)
    TYPES[wire].model_validate(body)


def test_scripted_replies_read_as_meant(server):
    completion = openai_client(server).chat.completions.create(model="m", messages=[])
    assert completion.choices[0].message.content == "Hello."
    assert completion.usage.prompt_tokens_details.cached_tokens == 100
    response = openai_client(server).responses.create(model="m", input="U")
    assert response.output_text == "Hello."
    assert response.usage.output_tokens_details.reasoning_tokens == 30
    message = anthropic_client(server).messages.create(
        model="m", max_tokens=9, messages=[]
    )
    assert message.content[0].text == "Hello."
    assert message.usage.cache_read_input_tokens == 100
    # Its client closes when nothing refers to it any more.
    client = gemini_client(server)
    content = client.models.generate_content(model="m", contents="U")
    assert content.text == "Hello."
    assert content.usage_metadata.thoughts_token_count == 30


#: The libraries' exceptions by our names of errors.
OPENAI_ERRORS = {
    "rate_limit": openai.RateLimitError,
    "quota": openai.RateLimitError,
    "overloaded": openai.InternalServerError,
    "server_error": openai.InternalServerError,
    "bad_request": openai.BadRequestError,
    "context": openai.BadRequestError,
    "auth": openai.AuthenticationError,
    "not_found": openai.NotFoundError,
}


@pytest.mark.parametrize("name", scripted_server.ERRORS)
def test_scripted_errors_are_the_libraries_errors(server, name):
    _, (kind, code), word, state = scripted_server.ERRORS[name]
    steps = [{"cue": name}]
    server.script.set(steps)
    with pytest.raises(OPENAI_ERRORS[name]) as caught:
        openai_client(server).chat.completions.create(model="m", messages=[])
    assert (caught.value.type, caught.value.code) == (kind, code)
    server.script.set(steps)
    with pytest.raises(getattr(anthropic, OPENAI_ERRORS[name].__name__)) as caught:
        anthropic_client(server).messages.create(model="m", max_tokens=9, messages=[])
    assert caught.value.body["error"]["type"] == word
    server.script.set(steps)
    client = gemini_client(server)
    with pytest.raises(genai.errors.APIError) as caught:
        client.models.generate_content(model="m", contents="U")
    assert caught.value.status == state


def test_chat_requests_are_the_librarys(server):
    limits = "&max_tokens=77&effort=low&temperature=0.5&top_p=0.25&seed=7"
    ours = body_by_fastk(server, "openai-chat", "/v1", limits, schema=SCHEMA)
    format = {"name": "ideas", "strict": True, "schema": SCHEMA}
    theirs = body_by(
        server,
        lambda: openai_client(server).chat.completions.create(
            model="m",
            messages=[
                {"role": "system", "content": "S"},
                {"role": "user", "content": "U"},
            ],
            max_completion_tokens=77,
            reasoning_effort="low",
            temperature=0.5,
            top_p=0.25,
            seed=7,
            response_format={"type": "json_schema", "json_schema": format},
        ),
    )
    assert ours == theirs


def test_responses_requests_are_the_librarys(server):
    limits = "&max_tokens=77&effort=low&temperature=0.5&top_p=0.25"
    ours = body_by_fastk(server, "openai", "/v1", limits, schema=SCHEMA)
    format = {"type": "json_schema", "name": "ideas", "strict": True}
    theirs = body_by(
        server,
        lambda: openai_client(server).responses.create(
            model="m",
            instructions="S",
            input="U",
            max_output_tokens=77,
            reasoning={"effort": "low"},
            temperature=0.5,
            top_p=0.25,
            text={"format": {**format, "schema": SCHEMA}},
            store=False,
        ),
    )
    assert ours == theirs


def test_anthropic_requests_are_the_librarys(server):
    # Its library has no temperature any more; servers of its wire have.
    ours = body_by_fastk(
        server, "anthropic", "", "&max_tokens=77&effort=low", schema=SCHEMA
    )
    shared = {"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}
    theirs = body_by(
        server,
        lambda: anthropic_client(server).messages.create(
            model="m",
            max_tokens=77,
            system=[shared],
            messages=[{"role": "user", "content": "U"}],
            output_config={
                "effort": "low",
                "format": {"type": "json_schema", "schema": SCHEMA},
            },
        ),
    )
    assert ours == theirs


def test_anthropic_headers_may_be_the_librarys(server):
    server.script.set([])
    anthropic_client(server).messages.create(model="m", max_tokens=9, messages=[])
    theirs = server.script.log()["requests"][0]["headers"]
    version = theirs["anthropic-version"]
    options = f"&auth=bearer&api_version={version}"
    server.script.set([])
    base = url(server)
    ask(f"anthropic:m?base_url={base}&key_env=TEST_KEY{options}", "U")
    ours = server.script.log()["requests"][0]["headers"]
    for name in ("authorization", "anthropic-version", "content-type"):
        assert ours[name] == theirs[name]


def test_gemini_requests_are_the_librarys(server):
    limits = "&max_tokens=77&effort=low&temperature=0.5&top_p=0.25&seed=7"
    path, ours = body_by_fastk(server, "gemini", "", limits, schema=SCHEMA)
    client = gemini_client(server)
    their_path, theirs = body_by(
        server,
        lambda: client.models.generate_content(
            model="m",
            contents="U",
            config=genai.types.GenerateContentConfig(
                system_instruction="S",
                max_output_tokens=77,
                temperature=0.5,
                top_p=0.25,
                seed=7,
                thinking_config=genai.types.ThinkingConfig(thinking_level="low"),
                response_mime_type="application/json",
                response_json_schema=SCHEMA,
            ),
        ),
    )
    assert path == their_path
    # The library may name the role of the system's part, leaves a field's name as
    # Python has it, and writes the level as an enumeration's value: to the service
    # these are the same.
    theirs["systemInstruction"].pop("role", None)
    config = theirs["generationConfig"]["thinkingConfig"]
    config["thinkingLevel"] = config.pop("thinking_level").lower()
    assert ours == theirs


@pytest.mark.parametrize("wire", ["openai", "openai-chat", "anthropic", "gemini"])
def test_keys_go_where_the_libraries_put_them(server, wire):
    body_by_fastk(server, wire, "/v1" if wire.startswith("openai") else "")
    (request,) = server.script.log()["requests"]
    assert scripted_server.key_of(request["headers"]) == KEY
    if wire == "gemini":
        assert KEY not in request["path"]


@pytest.mark.parametrize("cue", ["echo", *scripted_server.ERRORS])
@pytest.mark.parametrize("wire", ["openai", "openai-chat", "anthropic", "gemini"])
def test_no_piece_of_the_key_is_shown(server, wire, cue):
    base = url(server, "/v1" if wire.startswith("openai") else "")
    server.script.set([{"cue": cue}])
    reply = ask(f"{wire}:m?base_url={base}&key_env=TEST_KEY&attempts=1", "U")
    (request,) = server.script.log()["requests"]
    assert scripted_server.key_of(request["headers"]) == KEY
    # `ask` has looked for the whole key, in both streams.
    for start in range(len(KEY) - 8):
        assert KEY[start : start + 8] not in reply["problem"]
