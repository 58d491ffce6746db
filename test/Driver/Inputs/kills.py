"""What the tests share that kill a search and resume it."""
import json
import os
import signal
import subprocess
import time


def events(journal):
    """The events of every journal under `journal`: (folder, type, name), in order."""
    found = []
    for folder in sorted(os.listdir(journal)) if os.path.isdir(journal) else []:
        path = os.path.join(journal, folder, "journal.jsonl")
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            for line in file.read().split(b"\n"):
                try:
                    event = json.loads(line)["event"]
                except (ValueError, KeyError):
                    continue
                found.append((folder, event.get("type"), event.get("name")))
    return found


def run(command, kill_after=None):
    """Runs a search, killed with all that it started after so many seconds if it still runs then.

    Returns whether it was killed, its exit code and what it said."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    if kill_after is not None:
        time.sleep(kill_after)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    errors = process.communicate()[1]
    # It may have ended by itself at the last moment.
    return process.returncode == -signal.SIGKILL, process.returncode, errors
