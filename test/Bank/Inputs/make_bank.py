"""Makes a bank of winners out of the default lowerings of a module, without measuring anything.

Reads what `fastk-opt --fastk-form-workloads=... --fastk-lower-workloads --mlir-print-local-scope`
prints. Such winners are applied, compared and listed like any others; their program is the default
lowering itself.

usage: make_bank.py BANK [--only=REGEX] [--median=NS] [--speedup=X] [--machine=NAME] [--cpu=NAME]
                    [--threads=N] [--title=TEXT] [--folder=NAME] [--bits=true|false] [--here] < MODULE
--only takes the lowerings whose text matches REGEX; --here is the machine and the threads of this
computer; --bits is what the record says of the same bits each time. Prints the key of each winner.
"""
import argparse
import os
import re
import sys

RECORD = """record = {{baseline_ns = 1.0e+06 : f64, {bits}idea = {{category = "compute and instructions",
  id = "test/idea", text = "", title = "{title}"}}, machine = "{machine}", cpu = "{cpu}",
  mlir_version = "22.1.8", name = "{name}", shapes = "any", threads = {threads} : i64,
  speedup = {{high = {speedup} : f64, low = {speedup} : f64, median = {speedup} : f64}},
  time = {{median_ns = {median} : f64}}}}"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bank")
    parser.add_argument("--only", default="")
    parser.add_argument("--median", default="1.0e+03")
    parser.add_argument("--speedup", default="2.0e+00")
    parser.add_argument("--machine", default="test machine")
    parser.add_argument("--cpu", default="")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--title", default="a test")
    parser.add_argument("--folder", default="")
    parser.add_argument("--bits", choices=["true", "false"])
    parser.add_argument("--here", action="store_true")
    options = parser.parse_args()
    if options.here:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            options.machine = re.search(r"^(?:model name|CPU part)\s*: (.*)$", file.read(),
                                        re.MULTILINE).group(1)
        options.threads = str(len(os.sched_getaffinity(0)))
    options.bits = f"bitwise_deterministic = {options.bits}, " if options.bits else ""
    text = sys.stdin.read()
    lowerings = re.findall(r"^  fastk\.lowering .*?^  }$", text, re.DOTALL | re.MULTILINE)
    lowerings = [each for each in lowerings if re.search(options.only, each, re.DOTALL)]
    if not lowerings:
        sys.exit("make_bank.py: no lowering matches")
    for lowering in lowerings:
        key = re.search(r'key = "(\w+)"', lowering).group(1)
        record = RECORD.format(name="test", **vars(options))
        folder = os.path.join(options.bank, "host", options.folder or f"test-any-{key[:8]}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "lowering.mlir"), "w", encoding="utf-8") as file:
            file.write("// RUN: fastk-opt %s\n")
            file.write(lowering.strip().replace("attributes {", f"attributes {{{record}, ", 1) + "\n")
        print(key)


main()
