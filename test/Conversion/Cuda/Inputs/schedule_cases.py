"""Compiles models of a split-file folder with schedules for a GPU.

schedule_cases.py FOLDER MODEL CASE...: FOLDER/MODEL.mlir with FOLDER/CASE.sched each; a CASE
"name=1,other=2" is a schedule that sets those numbers. Writes FOLDER/CASE.out, and prints for each
case the plan, the kernels and the PTX, or the first error.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
"""
NUMBER = """    %{0} = transform.param.constant {1} : i64 -> !transform.param<i64>
    transform.annotate %func "fastk.{0}" = %{0} : !transform.any_op, !transform.param<i64>
"""


def compile_case(folder, model, case):
    lowering, scheduled = f"{folder}/{model}.low", f"{folder}/case.low"
    subprocess.run(
        ["fastk-opt", f"{folder}/{model}.mlir", "--fastk-form-workloads"]
        + ["--fastk-lower-workloads", "-o", lowering],
        check=True,
    )
    schedule = f"{folder}/{case}.sched"
    if "=" in case:
        schedule = f"{folder}/numbers.sched"
        with open(schedule, "w") as file:
            lines = [NUMBER.format(*each.split("=")) for each in case.split(",")]
            file.write(HEAD + "".join(lines) + "    transform.yield\n  }\n}\n")
    with open(scheduled, "w") as file:
        subprocess.run(
            [sys.executable, f"{HERE}/with_schedule.py", lowering, schedule], stdout=file, check=True
        )
    out = f"{folder}/out"
    result = subprocess.run(
        ["fastk-opt", scheduled, "--compile-kernel=kernels", "--target=cuda:sm_90a", "-o", out],
        capture_output=True,
        text=True,
    )
    print(f"CASE {case}", flush=True)
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error: " in line]
        print("error: " + errors[-1].split("error: ")[1])
        return
    for name in ["plan.json", "kernels.mlir", "kernel.ptx"]:
        print(open(os.path.join(out, name)).read())


for each in sys.argv[3:]:
    compile_case(sys.argv[1], sys.argv[2], each)
