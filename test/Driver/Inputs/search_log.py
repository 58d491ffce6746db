"""Shows a search's log, an event a line: search_log.py FILE.

Each line must be an object in ASCII that has what every event has. Of stderr only lines that begin
with a brace are looked at.
"""

import json
import sys

with open(sys.argv[1], "rb") as file:
    lines = [line for line in file.read().decode("ascii").splitlines() if line.startswith("{")]
for line in lines:
    event = json.loads(line)
    assert list(event)[:3] == ["time", "level", "event"], line
    assert event["level"] in ("info", "error") and isinstance(event["text"], str), line
    fields = [f"{name}={json.dumps(value)}" for name, value in event.items()
              if name not in ("time", "level", "event", "text")]
    print(f"{event['event']}: {' '.join(fields)} | {event['text'].splitlines()[0] if event['text'] else ''}")
