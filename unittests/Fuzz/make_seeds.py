"""Writes the seeds of every fuzz target: make_seeds.py FOLDER JOURNALS.

They are made of what the repository has: golden models, winners, the examples of the docs;
and of the journals in JOURNALS. One folder for each target, one file for each seed.
"""

import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# libFuzzer mutates long inputs badly, and a journal's prompts are long.
LONGEST = 24 * 1024

JOB = {
    "format": 1, "id": "a", "mode": "promote", "device": "cuda", "machine": "NVIDIA H200",
    "inputs": [
        {"type": "f16", "shape": [64, 128], "distribution": "data", "range": [-1, 1]},
        {"type": "i64", "shape": [], "distribution": "index", "range": [0, 7]},
        {"type": "i1", "shape": [3], "distribution": "mask"}],
    "outputs": [{"type": "f32", "shape": [64]}, {"type": "bf16", "shape": [1, 2, 3]}],
    "programs": {
        "oracle": {"path": "o.so"}, "baseline": {"path": "b.so"},
        "incumbent": {"path": "i.so", "workspace_bytes": 64},
        "candidate": {"path": "c.cu", "code": "cuda", "plan": {
            "format": 1, "steps": [
                {"launch": "k", "grid": [1], "block": [32], "arguments": ["in0", "out0"]}]}}},
    "kind": "contraction", "reduction_length": 128, "accepted_precision": "half",
    "validate": {"trials": 3, "competitors": False},
    "time": {"threads": 2, "min_samples": 7, "max_seconds": 1, "screen_ratio": 1.5,
             "cache": "warm"},
    "floor_ns": 12.5, "sanitizer": {"when": "never", "seconds": 2},
    "delays": {"when": "required", "seconds": 2, "schedules": 9, "rules": False},
    "limits": {"wall_seconds": 1, "memory_bytes": 1 << 30, "threads": 4, "file_bytes": 0}}


def examples(page):
    """The JSON blocks of a page of docs/formats."""
    text = (ROOT / "docs" / "formats" / page).read_text()
    return re.findall(r"```json\n(.*?)```", text, re.S)


def bodies(journal):
    """The events of a journal as their exact text."""
    for line in journal.read_text().splitlines():
        yield line[len('{"check":"01234567","event":'):-1]


def seeds(journals):
    yield "job", json.dumps(JOB)
    for text in examples("job.md"):
        yield "job", text
    for text in examples("plan.md"):
        yield "plan", text
    for journal in sorted(journals.glob("**/journal.jsonl")):
        lines = list(bodies(journal))
        header = json.loads(lines[0])
        # As the target binds it; the rest of the header is for readers.
        header["binding"] = [["key", "k"], ["worker", "w"]]
        header["about"] = {"name": "add"}
        lines[0] = json.dumps(header, separators=(",", ":"))
        for kind in ("ideas", "variants", "evaluation", "exchange", "device", "counts"):
            some = [line for line in lines[1:] if f'"type":"{kind}"' in line][:3]
            yield "journal", "\n".join([lines[0], *some]) + "\n"
        yield "journal", "\n".join(lines[:20]) + "\n"
        yield "journal", "raw\n" + "\n".join(journal.read_text().splitlines()[1:3]) + "\n"
        for line in lines:
            event = json.loads(line)
            if "verdict" in event:
                yield "verdict", line[line.index(',"verdict":') + len(',"verdict":'):-1]
            for variant in event.get("variants", []):
                if variant.get("plan"):
                    yield "plan", variant["plan"]
    for folder in [*(ROOT / "winners").glob("*/*"),
                   *(ROOT / "test" / "Bank" / "Inputs").glob("*/*/*")]:
        if not (folder / "lowering.mlir").is_file():
            continue
        program = next((p for p in folder.iterdir() if p.name.startswith(("kernel", "schedule"))),
                       None)
        yield "bank", ((folder / "lowering.mlir").read_text() + "//PROGRAM\n"
                       + (program.read_text() if program else ""))
    for model in [*(ROOT / "test" / "Inputs" / "golden").glob("*_small.mlir"),
                  *(ROOT / "test" / "Transforms").glob("*.mlir")]:
        for part in re.split(r"^// -----.*\n", model.read_text(), flags=re.M):
            yield "formation", part
    for i in range(16):
        yield "formation", "bytes\n" + hashlib.sha512(b"%d" % i).hexdigest()


def main():
    folder = pathlib.Path(sys.argv[1])
    for target, text in seeds(pathlib.Path(sys.argv[2])):
        data = text.encode()
        if len(data) > LONGEST:
            continue
        path = folder / target / hashlib.sha256(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
