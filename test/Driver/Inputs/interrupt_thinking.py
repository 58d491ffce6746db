"""Ends a search with Ctrl-C while a language model thinks and its spool waits for workers.

usage: interrupt_thinking.py COMMAND...   where the model makes the file "asked" here and then thinks for long
"""
import os
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
while not os.path.exists("asked"):
    if process.poll() is not None:
        sys.exit(f"it ended by itself:\n{process.stderr.read()}")
    time.sleep(0.05)
process.send_signal(signal.SIGINT)
said = process.communicate(timeout=120)[1]
print(said)
print("exit", process.returncode)
