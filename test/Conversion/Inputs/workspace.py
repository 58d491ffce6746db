"""Runs a model of two calls whose kernel scribbles over all of its workspace.

The workspace must not share memory with the value between the calls: if it did, the second call
would read what the scribbling left. The kernel is a ReLU; the result must be the ReLU of the input.

usage: workspace.py FASTK_RUN LOWERING.mlir SCRATCH      (LOWERING: a winner of ReLU on 64x128)
"""
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys

SOURCE = """#include <string.h>
void fastk_kernel(const float *in, float *out, void *workspace) {
  memset(workspace, 0xff, 1 << 20);
  for (int i = 0; i < 64 * 128; ++i)
    out[i] = in[i] > 0 ? in[i] : 0;
}
"""


def main():
    fastk_run, winner, scratch = sys.argv[1:]
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    with open(winner, encoding="utf-8") as file:
        text = file.read()
    key = re.search(r'key = "(\w+)"', text).group(1)
    pattern = text[text.index("} pattern {") + len("} "):]
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}"
                      for c in SOURCE)
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    tensor = "tensor<64x128xf32>"
    model = os.path.join(scratch, "model.mlir")
    with open(model, "w", encoding="utf-8") as file:
        file.write(f"""module {{
func.func @forward(%x: {tensor}) -> {tensor} {{
  %0 = fastk.call @w_{key[:16]}(%x) : ({tensor}) -> {tensor}
  %1 = fastk.call @w_{key[:16]}(%0) : ({tensor}) -> {tensor}
  return %1 : {tensor}
}}
fastk.lowering @w_{key[:16]} attributes {{digest = "{digest}", file = "kernel.c",
  format_version = 1 : i64, key = "{key}", language = #fastk.language<c>, source = "{escaped}",
  target = "host", workspace = {1 << 20} : i64}} {pattern}
}}
""")
    values = [(i * 37 % 101 - 50) / 7 for i in range(64 * 128)]
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 128), }"
    header += " " * (118 - len(header) - 1) + "\n"
    source = os.path.join(scratch, "in.npy")
    with open(source, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))
    subprocess.run([fastk_run, model, f"--bank={scratch}/bank", f"--inputs={source}",
                    f"--outputs={scratch}"], check=True)
    with open(os.path.join(scratch, "out0.npy"), "rb") as file:
        result = struct.unpack(f"<{len(values)}f", file.read()[-4 * len(values):])
    wrong = sum(abs(a - max(b, 0)) > 1e-6 for a, b in zip(result, values))
    if wrong:
        sys.exit(f"{wrong} of {len(values)} values are wrong")
    print("all values are right")


main()
