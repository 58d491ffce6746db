"""Runs a search whose log goes to a pipe, of which the reader goes after a line:
log_reader_goes.py PIPE SPOOL COMMAND...

The search waits for SPOOL, which nobody answers before the reader is gone: so there are lines
that nobody reads, however slow this process is.
"""

import os
import select
import subprocess
import sys
import time

pipe, spool, *command = sys.argv[1:]
answer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "answer_spool.py")
os.mkfifo(pipe)
reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
process = subprocess.Popen(command, restore_signals=True)
# Nothing comes of it before there is a writer; it may end by itself, with an error.
while process.poll() is None and not select.select([reader], [], [], 0.5)[0]:
    pass
os.close(reader)
while process.poll() is None:
    if os.path.isdir(spool):
        subprocess.run([sys.executable, answer, spool, "--gpu"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(0.1)
sys.exit(process.returncode)
