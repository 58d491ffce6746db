"""Opens a file in fastk-lsp-server as an editor does, and prints what it is told.

usage: lsp_client.py FILE [SYMBOL...]   each SYMBOL is hovered over where it stands first
"""
import json
import pathlib
import subprocess
import sys


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            ["fastk-lsp-server", "--log=error"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def send(self, method, parameters, **more):
        text = json.dumps({"jsonrpc": "2.0", "method": method, "params": parameters, **more})
        data = text.encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def read(self):
        """The next message."""
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, _, value = line.partition(b": ")
            if name == b"Content-Length":
                length = int(value)
        if not length:
            sys.exit("the server is gone")
        return json.loads(self.process.stdout.read(length))

    def told(self, method):
        """The parameters of the next notification of a kind."""
        while True:
            message = self.read()
            if message.get("method") == method:
                return message["params"]

    def ask(self, method, parameters):
        self.last += 1
        self.send(method, parameters, id=self.last)
        while True:
            message = self.read()
            if message.get("id") == self.last:
                return message["result"]


def place_of(text, symbol):
    """Where a symbol stands first."""
    before = text[: text.index(symbol)]
    line = before.count("\n")
    return {"line": line, "character": len(before) - (before.rfind("\n") + 1) + 1}


def show_diagnostics(server):
    found = server.told("textDocument/publishDiagnostics")
    print("diagnostics:", len(found["diagnostics"]))
    for each in found["diagnostics"]:
        start = each["range"]["start"]
        print(f"line {start['line'] + 1}: severity {each['severity']}: {each['message']}")


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    text = path.read_text()
    server = Server()
    able = server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    server.send("initialized", {})
    print("server:", able["serverInfo"]["name"])
    for each in ("hoverProvider", "definitionProvider", "completionProvider"):
        print(each, "yes" if able["capabilities"].get(each) else "no")
    document = {"uri": path.as_uri(), "languageId": "mlir", "version": 1, "text": text}
    server.send("textDocument/didOpen", {"textDocument": document})
    show_diagnostics(server)
    for symbol in sys.argv[2:]:
        where = {"textDocument": {"uri": path.as_uri()}, "position": place_of(text, symbol)}
        hover = server.ask("textDocument/hover", where)
        print(f"hover over {symbol}:", hover and hover["contents"]["value"])
        for definition in server.ask("textDocument/definition", where):
            print(f"{symbol} is defined in line", definition["range"]["start"]["line"] + 1)
    # The editor empties the file: what was wrong with it is gone.
    server.send("textDocument/didChange", {
        "textDocument": {"uri": path.as_uri(), "version": 2}, "contentChanges": [{"text": ""}]})
    show_diagnostics(server)
    server.ask("shutdown", None)
    server.send("exit", None)
    print("exit code", server.process.wait(timeout=60))


main()
