"""only_lowering.py FILE: prints the one fastk.lowering of a module, as a module of its own."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
aliases = "\n".join(re.findall(r"(?m)^#\w+ = .*$", text))
lowering = re.search(r"(?ms)^  fastk\.lowering @.*?^  \}\n", text)[0]
print(f"{aliases}\nmodule {{\n{lowering}}}")
