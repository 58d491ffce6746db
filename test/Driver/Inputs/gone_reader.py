"""Runs a command whose standard output nobody reads any more: gone_reader.py COMMAND...

Once as a shell does it, where the signal ends the command, and once with the signal ignored, as
services have it. Prints what the command said of it.
"""

import os
import subprocess
import sys

for is_ignored in (False, True):
    reader, writer = os.pipe()
    os.close(reader)
    # Python itself ignores SIGPIPE.
    result = subprocess.run(
        sys.argv[1:],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        restore_signals=not is_ignored,
    )
    os.close(writer)
    print(f"exit {result.returncode}")
    for line in result.stderr.splitlines():
        print(f"said: {line}")
