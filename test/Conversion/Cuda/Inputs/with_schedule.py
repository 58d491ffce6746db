"""Gives a lowering in language `default` a schedule for a GPU: LOWERING SCHEDULE."""

import hashlib
import json
import sys

lowering = open(sys.argv[1]).read()
schedule = open(sys.argv[2]).read()
text = json.dumps(schedule).replace("\\n", "\\0A").replace('\\"', "\\22")
digest = hashlib.sha256(schedule.encode()).hexdigest()
default = "language = #fastk.language<default>"
assert lowering.count(default) == 1
sys.stdout.write(
    lowering.replace(
        default,
        f'file = "schedule.mlir", digest = "{digest}", source = {text}, '
        "language = #fastk.language<schedule>",
    ).replace('target = "host"', 'target = "cuda:sm_90a"')
)
