# ===- scripted_server.py - Providers that misbehave on cue -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A server that speaks the wires of four providers, and errs when it is told to.

As a program it prints its port as the first line, then answers each line of its
standard input with one line: {"steps": [STEP...]} says what the next requests
get and forgets what came before, {"log": true} asks for what came. It ends with
its input. A step is {"cue": NAME, ...}; after the last one every request gets
the cue "ok". `CUES` are the names, with what else a step may hold.
"""

import argparse
import http.server
import json
import socket
import ssl
import struct
import sys
import threading
import time

#: What providers put around a reply's text, by wire: see `body_of`.
WIRES = ("chat", "responses", "anthropic", "gemini")

USAGE = {"input": 120, "cached": 100, "write": 0, "output": 40, "reasoning": 30}


def wire_of(path):
    path = path.split("?")[0]
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/responses"):
        return "responses"
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith(":generateContent"):
        return "gemini"
    return None


def chat(text, ending, usage):
    message = {"role": "assistant", "content": text, "refusal": None}
    if ending == "refusal":
        message.update(content=None, refusal="I will not do that.")
    finish = {"truncated": "length", "content_filter": "content_filter"}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": finish.get(ending, "stop"),
            }
        ],
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": usage["input"],
            "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage["cached"]},
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]},
        }
    return body


def responses(text, ending, usage):
    part = {"type": "output_text", "text": text, "annotations": []}
    if ending == "refusal":
        part = {"type": "refusal", "refusal": "I will not do that."}
    reason = {"truncated": "max_output_tokens", "content_filter": "content_filter"}
    status = "incomplete" if ending in reason else "completed"
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": status,
        "error": None,
        "incomplete_details": (
            {"reason": reason[ending]} if status == "incomplete" else None
        ),
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": []},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": status,
                "content": [part],
            },
        ],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }
    if usage:
        body["usage"] = {
            "input_tokens": usage["input"],
            "input_tokens_details": {
                "cached_tokens": usage["cached"],
                "cache_write_tokens": usage["write"],
            },
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
            "total_tokens": usage["input"] + usage["output"],
        }
    return body


def anthropic(text, ending, usage):
    stop = {
        "truncated": "max_tokens",
        "refusal": "refusal",
        "content_filter": "refusal",
    }
    refuses = ending in ("refusal", "content_filter")
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [] if refuses else [{"type": "text", "text": text}],
        "stop_reason": stop.get(ending, "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    if usage:
        body["usage"] = {
            "input_tokens": usage["input"] - usage["cached"] - usage["write"],
            "cache_creation_input_tokens": usage["write"],
            "cache_read_input_tokens": usage["cached"],
            "output_tokens": usage["output"],
        }
    return body


def gemini(text, ending, usage):
    finish = {
        "truncated": "MAX_TOKENS",
        "refusal": "SAFETY",
        "content_filter": "PROHIBITED_CONTENT",
    }
    refuses = ending in ("refusal", "content_filter")
    parts = [{"text": "Let me think.", "thought": True}]
    if not refuses:
        parts.append({"text": text})
    body = {
        "candidates": [
            {
                "content": {"role": "model", "parts": parts},
                "finishReason": finish.get(ending, "STOP"),
                "index": 0,
            }
        ],
        "modelVersion": "m",
        "responseId": "r1",
    }
    if usage:
        body["usageMetadata"] = {
            "promptTokenCount": usage["input"],
            "candidatesTokenCount": usage["output"] - usage["reasoning"],
            "thoughtsTokenCount": usage["reasoning"],
            "cachedContentTokenCount": usage["cached"],
            "totalTokenCount": usage["input"] + usage["output"],
        }
    return body


BODIES = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def body_of(wire, text="Hello.", ending="ok", usage=USAGE):
    """A reply's body as the provider would send it."""
    return BODIES[wire](text, ending, usage)


#: Per error: the status, and its names on each wire: OpenAI's type and code,
#: Anthropic's type, Google's status.
ERRORS = {
    "rate_limit": (
        429,
        ("requests", "rate_limit_exceeded"),
        "rate_limit_error",
        "RESOURCE_EXHAUSTED",
    ),
    "quota": (
        429,
        ("insufficient_quota", "insufficient_quota"),
        "rate_limit_error",
        "RESOURCE_EXHAUSTED",
    ),
    "overloaded": (503, ("server_error", None), "overloaded_error", "UNAVAILABLE"),
    "server_error": (500, ("server_error", None), "api_error", "INTERNAL"),
    "bad_request": (
        400,
        ("invalid_request_error", None),
        "invalid_request_error",
        "INVALID_ARGUMENT",
    ),
    "context": (
        400,
        ("invalid_request_error", "context_length_exceeded"),
        "invalid_request_error",
        "INVALID_ARGUMENT",
    ),
    "auth": (
        401,
        ("invalid_request_error", "invalid_api_key"),
        "authentication_error",
        "UNAUTHENTICATED",
    ),
    "not_found": (
        404,
        ("invalid_request_error", "model_not_found"),
        "not_found_error",
        "NOT_FOUND",
    ),
}

MESSAGES = {
    "rate_limit": "Too many requests.",
    "quota": "You exceeded your current quota.",
    "overloaded": "Overloaded.",
    "server_error": "Something went wrong.",
    "bad_request": "Unknown field.",
    "context": "The prompt is too long: it exceeds the model's context window.",
    "auth": "Incorrect API key provided: {key}.",
    "not_found": "There is no such model.",
}


def error_body(wire, name, key=""):
    """An error's status and body as the provider would send them."""
    status, (kind, code), word, state = ERRORS[name]
    message = MESSAGES[name].format(key=key)
    if wire in ("chat", "responses"):
        error = {"message": message, "type": kind, "param": None, "code": code}
        return status, {"error": error}
    if wire == "anthropic":
        error = {"type": word, "message": message}
        if name == "quota":
            error["details"] = {"error_code": "enforced_spend_limit_reached"}
        if name == "overloaded":
            status = 529
        return status, {"type": "error", "error": error, "request_id": "req_1"}
    error = {"code": status, "message": message, "status": state, "details": []}
    if name == "quota":
        error["details"].append(
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
            }
        )
    return status, {"error": error}


#: What a request may meet. `text`, `usage` (null for none), `headers`, `status`
#: and `body` (sent as it is) may stand in every step.
CUES = {
    "ok": "a reply with `text`",
    "echo": "a reply that repeats the request's headers and body",
    "truncated": "one that was cut by the limit",
    "refusal": "the model refuses",
    "content_filter": "the provider's filter stopped it",
    **{name: "an error of that name" for name in ERRORS},
    "error_in_200": "the error `error` in a response of status 200",
    "malformed": "no JSON",
    "cut": "the connection ends within the body",
    "reset": "the connection is reset before the response",
    "slow": "`seconds` before the response",
    "hang": "no response as long as the client waits",
    "huge": "a text of `bytes`",
    "redirect": "status 307 to `location`",
}


def key_of(headers):
    """The key that a request carries."""
    for name in ("x-api-key", "x-goog-api-key"):
        if headers.get(name):
            return headers[name]
    return (headers.get("authorization") or "").removeprefix("Bearer ")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Replies are written in pieces; without it each waits for the other side.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        script = self.server.script
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        headers = {name.lower(): value for name, value in self.headers.items()}
        step = script.begin({"path": self.path, "headers": headers, "body": body})
        try:
            self.play(step, headers, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            script.end()

    def play(self, step, headers, body):
        cue = step.get("cue", "ok")
        if cue not in CUES:
            raise ValueError(f"there is no cue {cue!r}")
        wire = wire_of(self.path)
        if cue == "reset":
            # Zero seconds to linger: the kernel sends a reset.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True
            return
        if cue == "hang":
            self.connection.settimeout(step.get("seconds", 60))
            self.rfile.read(1)
            self.close_connection = True
            return
        if cue == "slow":
            time.sleep(step.get("seconds", 0.2))
        if wire is None:
            self.send(404, {}, b'{"error": {"message": "no such path"}}')
            return
        status, reply = self.reply(step, cue, wire, headers, body)
        more = dict(step.get("headers", {}))
        if cue == "redirect":
            more["location"] = step["location"]
        self.send(step.get("status", status), more, reply, is_cut=cue == "cut")

    @staticmethod
    def reply(step, cue, wire, headers, body):
        if "body" in step:
            content = step["body"]
            if not isinstance(content, str):
                content = json.dumps(content)
            return 200, content.encode()
        if cue == "malformed":
            return 200, b"<html>Everything is fine</html>"
        if cue == "redirect":
            return 307, b""
        if cue in ERRORS or cue == "error_in_200":
            name = step["error"] if cue == "error_in_200" else cue
            status, content = error_body(wire, name, key_of(headers))
            status = 200 if cue == "error_in_200" else status
            return status, json.dumps(content).encode()
        text = step.get("text", "Hello.")
        if cue == "echo":
            text = json.dumps({"headers": headers, "body": body})
        if cue == "huge":
            text = "x" * step["bytes"]
        content = body_of(wire, text, cue, step.get("usage", USAGE))
        return 200, json.dumps(content).encode()

    def send(self, status, headers, body, is_cut=False):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", "req_scripted")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if is_cut else body)
        if is_cut:
            self.close_connection = True


class Script:
    """What requests get, and what came."""

    def __init__(self):
        self.lock = threading.Lock()
        self.set([])

    def set(self, steps):
        with self.lock:
            self.steps = list(steps)
            self.requests = []
            self.in_flight = self.most_in_flight = 0

    def begin(self, request):
        with self.lock:
            self.requests.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            return self.steps.pop(0) if self.steps else {"cue": "ok"}

    def end(self):
        with self.lock:
            self.in_flight -= 1

    def log(self):
        with self.lock:
            return {
                "requests": list(self.requests),
                "most_in_flight": self.most_in_flight,
            }


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = Script()
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=[0.02], daemon=True).start()

    def handle_error(self, request, client_address):
        # A client that trusts no certificate goes away, as it should.
        if not isinstance(sys.exc_info()[1], (OSError, ssl.SSLError)):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", help="a .pem of key and certificate")
    server = Server(parser.parse_args().certificate)
    print(server.port, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "steps" in message:
            server.script.set(message["steps"])
            print("{}", flush=True)
        else:
            print(json.dumps(server.script.log()), flush=True)


if __name__ == "__main__":
    main()
