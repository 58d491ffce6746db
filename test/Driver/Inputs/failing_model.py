"""A language model for the workload of int_matmul/model.mlir that works, or fails as it is told to.

usage: failing_model.py work|exit|garbage|ideas LOG < PROMPT

It adds a line to LOG each time it is asked. `ideas` has ideas and no programs.
"""
import json
import sys

HOW, LOG = sys.argv[1:]

KERNEL = """#include <stdint.h>
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  int32_t *restrict c, void *workspace) {
  (void)workspace;
#pragma omp parallel for
  for (int i = 0; i < 128; ++i) {
    for (int j = 0; j < 128; ++j)
      c[i * 128 + j] = 0;
    for (int k = 0; k < 128; ++k)
      for (int j = 0; j < 128; ++j)
        c[i * 128 + j] += a[i * 128 + k] * b[k * 128 + j];
  }
}
"""


def main():
    wants_ideas = '{"ideas":' in sys.stdin.read()
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("ideas\n" if wants_ideas else "program\n")
    if HOW == "exit":
        sys.exit("no credit is left on this account")
    if HOW == "garbage" or (HOW == "ideas" and not wants_ideas):
        print("I would rather talk of something else.")
    elif wants_ideas:
        print(json.dumps({"ideas": [
            {"title": "Rows", "category": "memory access", "parent": "none",
             "text": "The inner loop runs along contiguous memory.",
             "expected_gain": "2x, because."}]}))
    else:
        print(f"```c\n{KERNEL}```")


main()
