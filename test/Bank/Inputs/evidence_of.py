"""Writes evidence.json of the family in a folder: of its files as they are, and of 60 samples with
headers that no compiler writes. The prelude is fastk's, unless a digest is given.

usage: evidence_of.py FOLDER [PRELUDE]
"""
import hashlib
import json
import os
import sys


def digest(text):
    return hashlib.sha256(text).hexdigest()


def main():
    folder = sys.argv[1]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    with open(os.path.join(root, "lib", "Cuda", "Prelude", "fastk_prelude.cuh"), "rb") as file:
        prelude = digest(file.read())
    files = []
    for name in ("family.json", "kernel.cu", "plan.json"):
        with open(os.path.join(folder, name), "rb") as file:
            files.append(digest(file.read()))
    instances = [{"sample": number, "workload": digest(b"key"), "about": "m 1", "program": "0",
                  "precision": "ieee"} for number in range(60)]
    evidence = {"format": 1, "family": digest("".join(files).encode()), "emitter": digest(b"other"),
                "nvrtc": "13.0", "prelude": sys.argv[2] if len(sys.argv) > 2 else prelude, "target": "cuda:sm_90a", "device": "NVIDIA H200", "seed": 0,
                "instances": instances}
    with open(os.path.join(folder, "evidence.json"), "w", encoding="utf-8") as file:
        json.dump(evidence, file)


main()
