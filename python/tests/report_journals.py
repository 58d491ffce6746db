# ===- report_journals.py - Journals for the report's tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes journals as docs/formats/journal.md describes them, and one whole search.

`python report_journals.py DIR` writes that search, for people to look at a report.
"""

import hashlib
import json
import pathlib
import sys
import zlib

KEY = "1f3a9c0b" * 8
EXTENSIONS = {"c": ".c", "schedule": ".mlir", "cuda": ".cu", "gpu": ".mlir"}
ABOUT = {
    "name": "conv2d_relu",
    "shapes": "100x3x224x224xf32_96x3x11x11xf32",
    "floor_seconds": 0.000362,
    "ir": "func.func @workload(%x: tensor<100x3x224x224xf32>) {\n  return\n}\n",
}
BINDING = {
    "key": KEY,
    "target": "cuda:sm_90a",
    "precision": "half",
    "machine": "NVIDIA H200",
    "threads": "1",
    "proposer": "openai:gpt-x",
    "strategy": "branching",
    "rounds": "5",
    "ideas": "3",
    "implementations": "2",
    "parents": "4",
    "repairs": "2",
    "seed": "0",
    "fastk version": "0.1.0",
    "MLIR version": "22.1.8",
    "worker": "8f" * 32,
}


def sha(content):
    return hashlib.sha256(
        content.encode() if isinstance(content, str) else content
    ).hexdigest()


def variant_digest(variant):
    """digestOf(Variant), spelt a second time."""
    plan = variant.get("plan")
    text = f"{variant['language']} {variant.get('workspace_bytes', 0)}\n"
    text += f"{plan}\n" if plan is not None else ""
    text += variant["text"]
    text += f"\n{variant['problem']}" if variant.get("problem") else ""
    return sha(text)


def line_of(event):
    body = json.dumps(event, separators=(",", ":"), sort_keys=True)
    return f'{{"check":"{zlib.crc32(body.encode()):08x}","event":{body}}}\n'


def verdict(
    status, microseconds=None, baseline=1410.0, reason="", over_best=None, **fields
):
    """A worker's verdict; `over_best` is the speed-up over the best so far."""
    result = {"format": 1, "id": KEY, "status": status, "reason": reason}
    result["precision"] = "half" if status in ("ok", "slow") else "none"
    timing = {}
    if microseconds:
        for name, value in (("candidate", microseconds), ("baseline", baseline)):
            timing[name] = {
                "median_ns": value * 1e3,
                "p10_ns": value * 990,
                "p90_ns": value * 1020,
                "samples": 200,
            }
        ratio = baseline / microseconds
        timing["speedup_over_baseline"] = {
            "median": ratio,
            "low": ratio * 0.995,
            "high": ratio * 1.004,
        }
        if over_best:
            timing["incumbent"] = timing["candidate"] | {
                "median_ns": microseconds * over_best * 1e3
            }
            timing["speedup_over_incumbent"] = {
                "median": over_best,
                "low": over_best * 0.99,
                "high": over_best * 1.01,
            }
    result["timing"] = timing
    result["errors"] = [
        {
            "distribution": name,
            "trial": trial,
            "max_normalized": error * (trial + 1),
            "bound": 1e-2,
            "nan_mismatch": 0,
            "precision": "half",
        }
        for name, error in (("normal", 4e-4), ("spike", 1.9e-3), ("equal", 2e-5))
        for trial in range(2)
    ]
    return result | fields


class JournalWriter:
    """Writes one journal, event by event."""

    def __init__(self, folder, binding=None, about=ABOUT):
        self.folder = pathlib.Path(folder)
        for name in ("programs", "texts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "journal.jsonl"
        self.path.write_text("")
        self.elapsed = 0.0
        header = {"type": "header", "format": 1}
        header["binding"] = [[k, v] for k, v in (BINDING | (binding or {})).items()]
        if about:
            header["about"] = about
        self.append(header)

    def append(self, event):
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(line_of(event))

    def event(self, kind, name, seconds=1.0, **fields):
        self.elapsed += seconds
        self.append({"type": kind, "name": name, "elapsed": self.elapsed, **fields})

    def text(self, content):
        if not content:
            return ""
        (self.folder / "texts" / f"{sha(content)}.md").write_bytes(content.encode())
        return sha(content)

    def exchange(
        self,
        kind,
        name,
        user,
        reply,
        status="complete",
        sample=0,
        model="openai:gpt-x",
        system="You write fast kernels.\n",
        schema="",
        tokens=(9000, 1500),
        usd=0.03,
        problem="",
        failure="none",
        seconds=20.0,
        estimated=False,
    ):
        usage = {
            "input_tokens": tokens[0],
            "cached_tokens": tokens[0] // 2,
            "output_tokens": tokens[1],
            "reasoning_tokens": tokens[1] // 3,
            "attempts": 1,
            "seconds": seconds,
            "estimated": estimated,
        }
        if usd is not None:
            usage["usd"] = usd
        prompt = {
            "kind": kind,
            "name": name,
            "system": self.text(system),
            "user": self.text(user),
            "schema": self.text(schema),
            "sample": sample,
        }
        digest = sha("\n".join([kind, system, user, schema, str(sample)]))
        self.event(
            "exchange",
            f"{digest} {model}",
            seconds,
            prompt=prompt,
            reply={
                "model": model,
                "status": status,
                "failure": failure,
                "problem": problem,
                "text": self.text(reply),
                "usage": usage,
            },
        )
        return digest

    def ideas(self, name, ideas):
        """`ideas` are (id, category, title, text, parent)."""
        keys = ("id", "category", "title", "text", "parent")
        self.event(
            "ideas", name, 0.01, ideas=[dict(zip(keys, i, strict=True)) for i in ideas]
        )

    def variants(self, name, variants):
        """`variants` are dicts of idea, language, text and what else there is."""
        listed = []
        for variant in variants:
            program = variant["text"].encode()
            path = f"programs/{sha(program)}{EXTENSIONS[variant['language']]}"
            (self.folder / path).write_bytes(program)
            fields = {
                "idea": variant["idea"],
                "language": variant["language"],
                "program": sha(program),
                "workspace_bytes": variant.get("workspace_bytes", 0),
                "parameters": variant.get("parameters", {}),
                "parent": variant.get("parent", ""),
                "problem": variant.get("problem", ""),
            }
            if "plan" in variant:
                fields["plan"] = variant["plan"]
            listed.append(fields)
        self.event("variants", name, 0.01, variants=listed)
        return [variant_digest(variant) for variant in variants]

    def evaluate(self, digest, found, seconds=2.5):
        self.event("evaluation", f"evaluate/{digest}", seconds, verdict=found)

    def promote(self, digest, found, seconds=6.0):
        self.event("evaluation", f"promote/{digest}", seconds, verdict=found)


def kernel(tile=64, stages=1, vector="float", extra=""):
    """A CUDA program that is long enough to be read and compared."""
    return f"""\
// Implicit GEMM: rows are output pixels, columns are filters.
#define TILE {tile} // tune: 32, 64, 128
#define STAGES {stages}

extern "C" __global__ void __launch_bounds__(256)
conv(const float *__restrict__ in0, const float *__restrict__ in1,
     float *__restrict__ out0) {{
  __shared__ __align__(128) half a[STAGES][TILE][40];
  __shared__ __align__(128) half b[STAGES][TILE][40];
  const int block_m = blockIdx.x * TILE;
  const int block_n = blockIdx.y * TILE;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  float acc[TILE / 16][4] = {{}};
  for (int k = 0; k < 363; k += 32) {{
    {vector} *staged = reinterpret_cast<{vector} *>(&a[k / 32 % STAGES][0][0]);
    load_tile(staged, in0, block_m, k);
    load_tile(&b[k / 32 % STAGES][0][0], in1, block_n, k);
    __syncthreads();
{extra}#pragma unroll
    for (int i = 0; i < TILE / 16; ++i)
      mma_16x8x16(acc[i], a[k / 32 % STAGES], b[k / 32 % STAGES], warp, lane, i);
    __syncthreads();
  }}
  store_tile(out0, acc, block_m, block_n, warp, lane); // ReLU on the way
}}
"""


def plan(tile=64):
    return (
        '{"format": 1,\n "steps": [\n  {"launch":"conv","grid":['
        f"{-(-302500 // tile)},{-(-96 // tile)}],"
        '"block":[256],"arguments":["in0","in1","out0"]}]}\n'
    )


def reply_of(program, plan_text):
    return (
        "The tile is staged in shared memory.\n\n"
        f"```cuda\n{program}```\n\n```json plan\n{plan_text}```\n"
    )


def ideas_reply(ideas):
    return json.dumps(
        {
            "ideas": [
                {"title": t, "category": c, "text": x, "parent": p}
                for _, c, t, x, p in ideas
            ]
        }
    )


def cuda(idea, program, plan_text, **fields):
    return {
        "idea": idea,
        "language": "cuda",
        "text": program,
        "plan": plan_text,
        **fields,
    }


def variant_prompt(idea, parent=""):
    text = f"Write one kernel for this idea.\n\n## {idea[2]}\n\n{idea[3]}\n"
    return text + (f"\n## Parent\n\n```cuda\n{parent}```\n" if parent else "")


def llm_search(folder, promoted=True):
    """A search with a language model: whatever can happen happens once.

    Returns {name: digest} of the variants that tests ask for.
    """
    w = JournalWriter(folder)
    names = {}
    gemm = (
        "llm/1-implicit-gemm",
        "compute and instructions",
        "FP16 tensor-core implicit GEMM",
        "View the convolution as a matrix product and let tensor cores do it.",
        "",
    )
    cache = (
        "llm/1-read-only-cache",
        "memory access",
        "Read-only cache for invariant tensors",
        "Filters are read by every block: load them through the read-only path.",
        "",
    )
    index = (
        "llm/1-index-table",
        "control flow and loops",
        "k-index decomposition precomputed in shared memory",
        "Divisions by 11 and 121 in the inner loop cost more than the products.",
        "",
    )
    first = [gemm, cache, index]
    w.exchange(
        "ideas",
        "1f3a9c0b-round-1-ideas",
        "# Workload\n\n```mlir\nfunc.func @workload()\n```\n\nGive 3 ideas.\n",
        ideas_reply(first),
        schema='{"type": "object"}',
        tokens=(4200, 900),
    )
    w.ideas("1/0", first)

    # Round 1: right, wrong and mended, slow, unreadable twice, refused by the model.
    plain, wrong = kernel(64, 1), kernel(64, 1, extra="    // no barrier\n")
    mended = kernel(64, 1, extra="    __syncwarp();\n")
    for number, program in ((0, plain), (1, wrong)):
        w.exchange(
            "variant",
            f"1f3a9c0b-round-1-idea-0-sample-{number}",
            variant_prompt(gemm),
            reply_of(program, plan(64)),
            sample=number,
        )
    w.exchange(
        "variant",
        "1f3a9c0b-round-1-idea-1-sample-0",
        variant_prompt(cache),
        reply_of(kernel(32, 1), plan(32)),
    )
    w.exchange(
        "variant",
        "1f3a9c0b-round-1-idea-1-sample-1",
        variant_prompt(cache),
        "",
        status="refused",
        problem="the model would not answer: content filter",
        sample=1,
        tokens=(9000, 12),
        usd=None,
    )
    w.exchange(
        "variant",
        "1f3a9c0b-round-1-idea-2-sample-0",
        variant_prompt(index),
        "I would precompute the table, but I need to know more about the sizes.",
    )
    a, b = w.variants(
        "realise/1/0/0",
        [cuda(gemm[0], plain, plan(64)), cuda(gemm[0], wrong, plan(64))],
    )
    (c,) = w.variants("realise/1/0/1", [cuda(cache[0], kernel(32, 1), plan(32))])
    unreadable = {
        "idea": index[0],
        "language": "cuda",
        "text": "",
        "problem": "the reply has no block of code in ```cuda fences",
    }
    (d,) = w.variants("realise/1/0/2", [unreadable])
    names.update(plain=a, wrong=b, slow=c, unreadable=d)
    w.evaluate(a, verdict("ok", 3460.0, reason="right in class half on 13 trials"))
    w.evaluate(
        b,
        verdict(
            "wrong",
            reason="wrong on spike, trial 0: error 0.31 is above the bound 0.01",
        ),
    )
    w.exchange(
        "repair",
        "1f3a9c0b-round-1-repair-0",
        variant_prompt(gemm, wrong) + "\nIt is wrong on spike, trial 0.\n",
        reply_of(mended, plan(64)),
    )
    (e,) = w.variants(f"repair/{b}", [cuda(gemm[0], mended, plan(64), parent=b)])
    w.evaluate(e, verdict("ok", 3600.0, over_best=0.96, reason="right in class half"))
    w.evaluate(
        c, verdict("slow", 7540.0, over_best=0.46, reason="dropped after one trial")
    )
    w.exchange(
        "repair",
        "1f3a9c0b-round-1-repair-1",
        variant_prompt(index) + "\nYour reply could not be read.\n",
        reply_of(kernel(48, 1, extra="    table[k] = k / 121;\n"), plan(48)),
    )
    (f,) = w.variants(
        f"repair/{d}",
        [
            cuda(
                index[0],
                kernel(48, 1, extra="    table[k] = k / 121;\n"),
                plan(48),
                parent=d,
            )
        ],
    )
    names.update(mended=e, second=f)
    w.evaluate(
        f,
        verdict(
            "refused",
            reason="does not compile: conv.cu(19): error: identifier "
            '"table" is undefined',
        ),
    )
    w.exchange(
        "repair",
        "1f3a9c0b-round-1-repair-2",
        variant_prompt(index, kernel(48, 1, extra="    table[k] = k / 121;\n"))
        + "\nidentifier table is undefined\n",
        reply_of(kernel(48, 1, extra="    table_of(k);\n"), plan(48)),
    )
    (g,) = w.variants(
        f"repair/{f}",
        [cuda(index[0], kernel(48, 1, extra="    table_of(k);\n"), plan(48), parent=f)],
    )
    w.evaluate(
        g, verdict("crash", reason="an illegal address at 0x7f31aa000 in kernel conv")
    )
    tuned = [
        cuda(gemm[0], kernel(t, 1), plan(t), parent=a, parameters={"TILE": t})
        for t in (128, 32, 96)
    ]
    h, i, _ = w.variants(f"neighbours/{a}/0", tuned)
    w.evaluate(h, verdict("ok", 2900.0, over_best=1.19, reason="right in class half"))
    (j,) = w.variants(
        f"neighbours/{h}/0",
        [cuda(gemm[0], kernel(160, 1), plan(160), parent=h, parameters={"TILE": 160})],
    )
    w.evaluate(j, verdict("memory", reason="wants 98304 bytes of shared memory"))
    names.update(crash=g, tuned=h, untried=i)

    # Round 2: a truncated reply asked again, a duplicate, the best so far.
    buffers = (
        "llm/2-double-buffer",
        "async and latency hiding",
        "Double-buffered cp.async",
        "Load the next tile while tensor cores work on this one.",
        h,
    )
    again = (
        "llm/2-tiles",
        "parallelism and occupancy",
        "Larger tiles for fewer passes over the image",
        "A block of 128 by 128 reads each input row half as often.",
        a,
    )
    w.exchange(
        "ideas",
        "1f3a9c0b-round-2-ideas",
        "# Workload\n\nTried: FP16 tensor-core implicit GEMM, 2.90 ms.\n",
        ideas_reply([buffers, again]),
        tokens=(6100, 1100),
    )
    w.ideas("2/0", [buffers, again])
    fast = kernel(128, 2)
    w.exchange(
        "variant",
        "1f3a9c0b-round-2-idea-0-sample-0",
        variant_prompt(buffers, kernel(128, 1)),
        reply_of(fast, plan(128))[:240],
        status="truncated",
        problem="the reply was cut at its limit of 4,096 tokens",
    )
    w.exchange(
        "variant",
        "1f3a9c0b-round-2-idea-0-sample-0",
        variant_prompt(buffers, kernel(128, 1)) + "\nYour reply was cut; be short.\n",
        reply_of(fast, plan(128)),
    )
    w.exchange(
        "variant",
        "1f3a9c0b-round-2-idea-1-sample-0",
        variant_prompt(again, plain),
        reply_of(kernel(128, 1), plan(128)),
    )
    (k,) = w.variants(
        "realise/2/0/0", [cuda(buffers[0], fast, plan(128), parent=h)]
    )
    w.variants("realise/2/0/1", [cuda(again[0], kernel(128, 1), plan(128), parent=a)])
    names.update(fast=k)
    w.evaluate(k, verdict("ok", 1370.0, over_best=2.1, reason="right in class half"))

    # Round 3: the first reply holds no ideas.
    vectors = (
        "llm/3-half2",
        "memory access",
        "Vectorised (half2) shared-memory writes",
        "Two halves at a time: the stores are the bottleneck now.",
        k,
    )
    w.exchange(
        "ideas",
        "1f3a9c0b-round-3-ideas",
        "# Workload\n\nTried: Double-buffered cp.async, 1.37 ms.\n",
        "Sorry, here are my thoughts without JSON.",
    )
    w.exchange(
        "ideas",
        "1f3a9c0b-round-3-ideas-again",
        "# Workload\n\nYour reply was no JSON object.\n",
        ideas_reply([vectors]),
        estimated=True,
    )
    w.ideas("3/0", [vectors])
    best = kernel(128, 2, vector="half2")
    w.exchange(
        "variant",
        "1f3a9c0b-round-3-idea-0-sample-0",
        variant_prompt(vectors, fast),
        reply_of(best, plan(128)),
    )
    (m,) = w.variants("realise/3/0/0", [cuda(vectors[0], best, plan(128), parent=k)])
    gpu = {
        "name": "NVIDIA H200",
        "kernels": [
            {
                "name": "conv",
                "registers": 168,
                "spill_store_bytes": 16,
                "spill_load_bytes": 24,
                "stack_bytes": 32,
                "shared_bytes": 40960,
            }
        ],
        "warnings": ["ptxas info: 40 bytes spilled in conv"],
    }
    w.evaluate(
        m, verdict("ok", 795.0, over_best=1.72, reason="right in class half", gpu=gpu)
    )
    (n,) = w.variants(
        f"neighbours/{m}/0",
        [
            cuda(
                vectors[0],
                kernel(64, 2, vector="half2"),
                plan(64),
                parent=m,
                parameters={"TILE": 64},
            )
        ],
    )
    w.evaluate(n, verdict("ok", 910.0, over_best=0.87, reason="right in class half"))
    # No step gained anything: this one is of the sweep at the end.
    (o,) = w.variants(
        f"neighbours/{m}/1",
        [
            cuda(
                vectors[0],
                kernel(256, 2, vector="half2"),
                plan(256),
                parent=m,
                parameters={"TILE": 256},
            )
        ],
    )
    w.evaluate(o, verdict("timeout", reason="a call took longer than 5 s"))
    names.update(best=m, swept=o)
    if promoted:
        w.promote(
            m,
            verdict(
                "ok",
                801.0,
                reason="right in class half on 30 trials",
                gpu=gpu,
                errors=[],
            ),
        )
    return names


if __name__ == "__main__":
    llm_search(sys.argv[1])
