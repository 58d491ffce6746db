"""Answers the prompts of a mailbox as a language model would, for the workload of
int_matmul/model.mlir: ideas for each round, programs, and programs that are mended.

Of the two samples of an idea the second is no program at first. In the first round one program is
wrong. All others are right, and faster than the default lowering.

usage: answer_mailbox.py DIR [MOST]   answers at most MOST prompts, in order of name; prints how many
"""
import json
import os
import re
import sys

KERNEL = """#include <stdint.h>
#define STEP {step} // tune: 1, 2, 4
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  int32_t *restrict c, void *workspace) {{
  (void)workspace;
  // {note}
#pragma omp parallel for
  for (int i = 0; i < 128; ++i) {{
    for (int j = 0; j < 128; ++j)
      c[i * 128 + j] = 0;
    for (int k = {first}; k < 128; k += STEP)
      for (int l = k; l < k + STEP; ++l)
        for (int j = 0; j < 128; ++j)
          c[i * 128 + j] += a[i * 128 + l] * b[l * 128 + j];
  }}
}}
"""


def ideas(number, text):
    titles = [f"Rows of round {number}", f"Steps of round {number}"]
    # It builds on what it is shown, once there is something.
    parent = "P1" if "P1" in text else "none"
    return json.dumps({"ideas": [
        {"title": title, "category": category, "parent": parent, "expected_gain": "2x, because.",
         "text": f"{title}: the inner loop runs along the rows of b, which stream through the cache."}
        for title, category in zip(titles, ["memory access", "compute and instructions"])]})


def program(name, step, first):
    kernel = KERNEL.format(step=step, note=name, first=first)
    return f"Here is the program.\n\n```c\n{kernel}```\n"


def answer(name, text):
    number = int(re.search(r"-round-(\d+)-", name)[1])
    if "-ideas" in name:
        return ideas(number, text)
    if "-repair-" in name:
        return program(name, step=2, first=0)
    if name.endswith("-sample-2"):
        return f"I am sorry, I cannot write {name}."
    wrong = number == 1 and "rows" in name
    return program(name, step=1, first=1 if wrong else 0)


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
