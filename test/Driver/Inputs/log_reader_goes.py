"""Runs a command whose log goes to a pipe, of which the reader goes after a line:
log_reader_goes.py PIPE COMMAND...
"""

import os
import select
import subprocess
import sys

os.mkfifo(sys.argv[1])
reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
process = subprocess.Popen(sys.argv[2:], restore_signals=True)
# Nothing comes of it before there is a writer; waits for no time of its own, for the
# command may be over soon.
while process.poll() is None and not select.select([reader], [], [], 0.5)[0]:
    pass
os.close(reader)
sys.exit(process.wait())
