"""Prints the PTX and the JSON of a model for a GPU (--emit=llvm, from stdin).

With the path of ptxas the PTX is assembled: `assembles` at the end, or what it says.
"""

import json
import re
import subprocess
import sys
import tempfile

text = sys.stdin.read()
found = re.search(r'@fastk\.plan_file = .* c"([^"]*)"', text)
file = re.sub(
    rb"\\([0-9A-F]{2})",
    lambda match: bytes([int(match[1], 16)]),
    found[1].encode(),
)
head, rest = file.split(b"\n", 1)
size = int(head.split()[2])
start = -(-(len(head) + 1 + size) // 64) * 64
for image in json.loads(rest[:size])["images"]:
    at = start + image["at"]
    code = file[at : at + image["bytes"]].decode()
    print(code)
    if len(sys.argv) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
            ptx.write(code)
            ptx.flush()
            command = [sys.argv[1], "-arch=sm_90a", ptx.name, "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(done.stderr or "assembles")
print(rest[:size].decode())
