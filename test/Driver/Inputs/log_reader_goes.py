"""Runs a command whose log goes to a pipe, of which the reader goes after a line:
log_reader_goes.py PIPE COMMAND...
"""

import os
import subprocess
import sys
import time

os.mkfifo(sys.argv[1])
reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
process = subprocess.Popen(sys.argv[2:], restore_signals=True)
while process.poll() is None:
    try:
        if os.read(reader, 20):
            break
    except BlockingIOError:
        pass
    time.sleep(0.01)
os.close(reader)
sys.exit(process.wait())
