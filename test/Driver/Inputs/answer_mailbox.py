"""Answers the prompts of a mailbox as a language model would: ideas for each round, programs, and
programs that are mended. For the host the workload is that of int_matmul/model.mlir, for a GPU that
of relu.mlir.

Of the two samples of an idea the second is no program at first. In the first round one program for
the host is wrong. All others are right, and faster than the default lowering.

usage: answer_mailbox.py DIR [MOST]   answers at most MOST prompts, in backward order of name;
                                 prints how many
"""
import json
import os
import re
import sys

# Sums in registers: far faster than the default lowering on any machine.
HOST = """#include <stdint.h>
#define STEP {step} // tune: 1, 2, 4
typedef int32_t vec __attribute__((vector_size(64), aligned(4)));
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  int32_t *restrict c, void *workspace) {{
  (void)workspace;
#pragma omp parallel for
  for (int i = 0; i < 128; i += 2)
    for (int j = 0; j < 128; j += 32) {{
      const int32_t *x = a + i * 128, *y = x + 128;
      vec x0 = {{0 * {number}}}, x1 = {{0}}, y0 = {{0}}, y1 = {{0}};
      for (int k = {first}; k < 128; k += STEP)
        for (int l = k; l < k + STEP; ++l) {{
          const vec b0 = *(const vec *)(b + l * 128 + j);
          const vec b1 = *(const vec *)(b + l * 128 + j + 16);
          x0 += x[l] * b0, x1 += x[l] * b1;
          y0 += y[l] * b0, y1 += y[l] * b1;
        }}
      vec *to = (vec *)(c + i * 128 + j), *below = (vec *)(c + i * 128 + 128 + j);
      to[0] = x0, to[1] = x1, below[0] = y0, below[1] = y1;
    }}
}}
"""

# How fast it is tells answer_spool.py.
DEVICE = """// fixture: {ns} ns
extern "C" __global__ void relu(const float *in, float *out, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = fmaxf(in[i], 0.0f * {number}.0f);
}}
"""
PLAN = {"format": 1, "name": "relu", "steps": [
    {"launch": "relu", "grid": [32], "block": [256], "arguments": ["in0", "out0", {"i32": 8192}]}]}


def ideas(number, text):
    # It builds on what it is shown, once there is something.
    parent = "P1" if "P1" in text else "none"
    return json.dumps({"ideas": [
        {"title": f"{what} of round {number}", "category": category, "parent": parent,
         "expected_gain": "2x, because.",
         "text": f"{what}: the inner loop runs along contiguous memory in round {number}."}
        for what, category in [("Rows", "memory access"), ("Steps", "compute and instructions")]]})


def program(number, text, step, first):
    """`number` makes another program of it."""
    if "```cuda" in text:
        kernel = DEVICE.format(ns=7000 - 500 * number, number=number)
        return f"It is this one.\n\n```cuda\n{kernel}```\n\n```json\n{json.dumps(PLAN)}\n```\n"
    kernel = HOST.format(step=step, number=number, first=first)
    return f"It is this one.\n\n```c\n{kernel}```\n"


def answer(name, text):
    number = int(re.search(r"-round-(\d+)-", name)[1])
    if "-ideas" in name:
        return ideas(number, text)
    if "-repair-" in name:
        return program(2 * number + 10, text, step=2, first=0)
    if name.endswith("-sample-2"):
        return f"I am sorry, I cannot write {name}."
    rows = "-rows-" in name
    return program(2 * number + rows, text, step=1, first=1 if rows and number == 1 else 0)


def main():
    box = sys.argv[1]
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 30
    done = 0
    # In another order than the one in which they were asked.
    for file in sorted(os.listdir(box), reverse=True):
        found = re.fullmatch(r"(.*)-[0-9a-f]{12}\.prompt\.md", file)
        path = os.path.join(box, file.replace(".prompt.md", ".answer.md"))
        if not found or os.path.exists(path) or done == most:
            continue
        with open(os.path.join(box, file), encoding="utf-8") as prompt:
            reply = answer(found[1], prompt.read())
        temporary = os.path.join(box, ".answer")
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(reply)
        os.rename(temporary, path)
        done += 1
    print(f"{done} answered")


main()
