"""Prints the plan and the PTX of a model for a GPU (--emit=llvm, from stdin).

With the path of ptxas the PTX is assembled: `assembles` at the end, or what it says.
"""

import re
import subprocess
import sys
import tempfile

text = sys.stdin.read()
for name, data in re.findall(r'@fastk\.(plan|code)\.\S+ = .* c"([^"]*)"', text):
    data = re.sub(r"\\([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), data)
    data = data.rstrip("\0")
    print(data)
    if name == "code" and len(sys.argv) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(data)
            file.flush()
            command = [sys.argv[1], "-arch=sm_90a", file.name, "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(done.stderr or "assembles")
