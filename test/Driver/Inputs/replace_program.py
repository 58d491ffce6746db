"""replace_program.py MODULE PROGRAM: prints the module with another program in its one fastk.lowering,
and a digest that fits: what whoever forges a module can do. The seal is dropped."""
import hashlib
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
with open(sys.argv[2], encoding="utf-8") as file:
    program = file.read()
escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in program)
digest = hashlib.sha256(program.encode()).hexdigest()
text = re.sub(r'\bdigest = "[^"]*"', lambda _: f'digest = "{digest}"', text)
text = re.sub(r'\bsource = "[^"]*"', lambda _: f'source = "{escaped}"', text)
text = re.sub(r', seal = "[^"]*"', "", text)
print(text)
