"""Takes the examples out of the texts of prompts.

prompt_blocks.py FILE.md FOLDER: writes FOLDER/0.mlir, 1.mlir, ... the blocks of MLIR, and
FOLDER/forms.txt, the block of plain text.
"""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
for tag in ("mlir", "text"):
    for number, block in enumerate(re.findall(rf"```{tag}\n(.*?)```\n", text, re.DOTALL)):
        name = "forms.txt" if tag == "text" else f"{number}.{tag}"
        (folder / name).write_text(block)
