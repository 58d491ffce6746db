# ===- servers.py - Servers that hold banks, good and bad -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""nginx with WebDAV, moto's S3, a network with delay, and a server that lies.

Each is a context manager with a `url`. All of them listen on this machine alone.
"""

import contextlib
import hashlib
import heapq
import http.server
import itertools
import json
import os
import pathlib
import re
import selectors
import shutil
import socket
import subprocess
import sys
import threading
import time

from ports import free_port

#: Where everyone's index is: lib/Bank/Remote/RemoteIndex.cpp.
ROOT_PATH = "/ac/7f1c854b89a4b3016ed8ffc7dc71a180b13d3657b0b2a40c632e5b54327be4db"
#: Nobody asks for it but who reads the log.
LAST = "/last"

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "remote-bank.md"


def wait_for(port, process=None, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process is None or process.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nobody listens on port {port}")


class Process:
    """A server that is a program of its own."""

    process = None

    def launch(self, command, folder, **options):
        self.log = open(pathlib.Path(folder) / "server.log", "wb")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, **options
        )
        wait_for(self.port, self.process)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.log.close()
            self.process = None


class Nginx(Process):
    """The set-up of docs/remote-bank.md, without TLS and with or without a password.

    `users` is the text of an htpasswd file, for writing alone unless `all_requests`; a
    `token` is for all requests.
    """

    def __init__(
        self,
        folder,
        users="",
        token="",
        all_requests=False,
        port=0,
        tls=False,
        http2=False,
    ):
        self.folder = pathlib.Path(folder)
        self.users, self.token, self.all_requests = users, token, all_requests
        self.port = port or free_port()
        self.tls, self.certificate = tls, self.folder / "certificate.pem"
        self.http2 = http2
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/bank"
        self.root = self.folder / "www"
        self.access = self.folder / "access.log"

    def start(self):
        self.root.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        (self.folder / "users").write_text(self.users)
        paths = " ".join(
            f"{kind}_temp_path {temporary};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (self.folder / "nginx.conf").write_text(
            f"""
daemon off; master_process off; pid {self.folder}/nginx.pid;
error_log {self.folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log {self.access}; {paths}
  server {{
    listen 127.0.0.1:{self.port}{self.encryption()}
    {self.location()}
  }}
}}
"""
        )
        self.launch(
            [nginx(), "-p", self.folder, "-c", self.folder / "nginx.conf"], self.folder
        )

    def encryption(self):
        """The rest of the line, with a certificate that nobody knows yet."""
        if not self.tls:
            return ";"
        key = self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
            + ["-subj", "/CN=bank", "-addext", "subjectAltName=IP:127.0.0.1"]
            + ["-keyout", key, "-out", self.certificate],
            check=True,
            capture_output=True,
        )
        ssl = "ssl http2" if self.http2 else "ssl"
        return f" {ssl}; ssl_certificate {self.certificate}; ssl_certificate_key {key};"

    def location(self):
        """That of the page, with our places and who may do what."""
        text = re.search(r"^location .*?^}$", PAGE.read_text(), re.M | re.S)[0]
        text = text.replace("/srv/winners", str(self.root))
        text = text.replace("/etc/nginx/winners.users", str(self.folder / "users"))
        limit = re.search(r"^ *limit_except GET {(.*?)^    }$", text, re.M | re.S)
        if self.token:
            check = f'if ($http_authorization != "Bearer {self.token}") {{ return 401; }}'
            return text.replace(limit[0], check)
        if not self.users:
            return text.replace(limit[0], "")
        return text.replace(limit[0], limit[1]) if self.all_requests else text

    def requests(self):
        """What was asked since the last time: ("GET", "/ac/..", 200), ..."""
        # A client may have its answer before that is in the log, but not that of a later
        # request. A server of TLS answers this one, too.
        if self.process:
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as last:
                last.sendall(f"GET {LAST} HTTP/1.0\r\n\r\n".encode())
                while last.recv(1 << 12):
                    pass
        lines = self.access.read_text().splitlines() if self.access.exists() else []
        fresh = lines[getattr(self, "seen", 0) :]
        self.seen = len(lines)
        found = []
        for line in fresh:
            _, request, rest, *_ = line.split('"')
            method, path, _ = request.split()
            if path == LAST:
                continue
            found.append((method, path.removeprefix("/bank"), int(rest.split()[0])))
        return found


def nginx():
    return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")


class Moto(Process):
    """S3 as moto plays it; requests need valid signatures."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.address}/winners/team"

    def start(self):
        self.launch(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            self.folder,
            # The first requests make a user; from then on signatures are checked.
            env=dict(os.environ, INITIAL_NO_AUTH_ACTION_COUNT="4"),
        )


class Far:
    """A server, as it is seen over a network with a round trip of `seconds`.

    Each direction takes half of it, and so does each of a handshake's. What was sent is on
    its way while more is: there is no bound for how much. A thread with a list of what is
    due, not asyncio: a hundred connections at once took that 80 ms of its own.
    """

    def __init__(self, port, seconds):
        self.target, self.seconds = port, seconds
        self.connections = 0
        self.due, self.number = [], itertools.count()
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        #: Sockets to which all was sent, whose own end is still to come.
        self.half = set()

    def __enter__(self):
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def run(self):
        while not self.ended.is_set():
            wait = self.due[0][0] - time.monotonic() if self.due else 0.2
            for key, _ in self.selector.select(max(0, min(wait, 0.2))):
                key.data()
            while self.due and self.due[0][0] <= time.monotonic():
                heapq.heappop(self.due)[2]()

    def later(self, seconds, action):
        heapq.heappush(
            self.due, (time.monotonic() + seconds, next(self.number), action)
        )

    def accept(self):
        """Connects at once: what that takes is part of the handshake, not beside it."""
        client, _ = self.listener.accept()
        self.connections += 1
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            return self.later(self.seconds, client.close)
        self.later(self.seconds, lambda: self.join(client, server))

    def join(self, client, server):
        for one, other in ((client, server), (server, client)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(
                one,
                selectors.EVENT_READ,
                lambda one=one, other=other: self.carry(one, other),
            )

    def carry(self, one, other):
        """What has come from one goes to the other, and so does its end."""
        try:
            data = one.recv(1 << 16)
        except OSError:
            data = b""
        if data:
            return self.later(self.seconds / 2, lambda: self.send(other, data))
        self.selector.unregister(one)
        self.later(self.seconds / 2, lambda: self.end(one, other))

    def send(self, other, data):
        with contextlib.suppress(OSError):  # It has gone.
            other.sendall(data)

    def end(self, one, other):
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)
        if one not in self.half:
            self.half.add(other)
            return
        self.half.remove(one)
        one.close()
        other.close()


class Liar:
    """A bank's files, served by somebody who may change each answer.

    `lie(handler, path, body)` is asked for each GET: it answers by the handler and returns
    true, or returns false for the honest answer. `body` is None where there is none.
    """

    def __init__(self, root, lie=lambda handler, path, body: False):
        liar = self
        self.root, self.lie, self.asked = pathlib.Path(root), lie, []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.removeprefix("/bank")
                liar.asked.append(path)
                file = liar.root / path.lstrip("/")
                body = file.read_bytes() if file.is_file() else None
                try:
                    if not liar.lie(self, path, body):
                        self.answer(200 if body is not None else 404, body or b"")
                except OSError:
                    pass  # The client has had enough.

            def answer(self, status, body, headers=(), length=None):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header(
                    "Content-Length", str(len(body) if length is None else length)
                )
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/bank"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def repacked(files, change, change_index=lambda winner: None):
    """A lie in which each winner is another one, under the right digest.

    `change` gets the files of each, and `change_index` what the index says of it.
    """
    objects, digests = {}, {}
    for file in (files / "cas").iterdir():
        winner = json.loads(file.read_bytes())
        change(winner["files"])
        text = json.dumps(winner).encode()
        digests[file.name] = hashlib.sha256(text).hexdigest()
        objects[digests[file.name]] = text

    def lie(handler, path, body):
        if path == ROOT_PATH:
            root = json.loads(body)
            for winner in root["targets"]["host"]["winners"]:
                winner["object"] = digests[winner["object"]]
                change_index(winner)
            handler.answer(200, json.dumps(root).encode())
        elif path.removeprefix("/cas/") in objects:
            handler.answer(200, objects[path.removeprefix("/cas/")])
        else:
            return False
        return True

    return lie


class BazelRules(Liar):
    """Takes what bazel-remote's documentation lets clients send, and nothing else.

    Keys of /cas are the digest of what they hold, keys of /ac any 64 digits; nothing is
    compressed, and nothing in /ac claims to be an action's result in JSON.
    """

    def __init__(self, root):
        super().__init__(root)
        rules, handler = self, self.server.RequestHandlerClass
        self.refused = []

        def put(request):
            body = request.rfile.read(int(request.headers["Content-Length"]))
            found = re.fullmatch(r"/bank/(cas|ac)/([0-9a-f]{64})", request.path)
            headers = request.headers
            if (
                not found
                or (found[1] == "cas" and hashlib.sha256(body).hexdigest() != found[2])
                or "json" in headers.get("Content-Type", "")
                or headers.get("Content-Encoding")
            ):
                rules.refused.append(request.path)
                return request.answer(400, b"")
            file = rules.root / found[1] / found[2]
            file.parent.mkdir(parents=True, exist_ok=True)
            # Whole or not at all, as bazel-remote does.
            part = file.with_name(f"{file.name}.{threading.get_ident()}")
            part.write_bytes(body)
            part.replace(file)
            return request.answer(200, b"")

        def get(request):
            if not re.fullmatch(r"/bank/(cas|ac)/[0-9a-f]{64}", request.path):
                rules.refused.append(request.path)
            if "zstd" in request.headers.get("Accept-Encoding", ""):
                rules.refused.append("zstd")
            honest(request)

        honest, handler.do_GET, handler.do_PUT = handler.do_GET, get, put
