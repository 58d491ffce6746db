"""compile_golden.py FOLDER SCRATCH: compiles every workload of every model of
FOLDER for a GPU, program and oracle, the large ones twice, and compares the
bytes. Prints how many there were."""
import concurrent.futures
import filecmp
import pathlib
import re
import shutil
import subprocess
import sys

TARGET = "--target=cuda:sm_90a"


def split_lowerings(text):
    """One module for each lowering of a module."""
    aliases = "\n".join(re.findall(r"(?m)^#\w+ = .*$", text))
    for part in re.split(r"(?m)^  (?=fastk\.lowering @)", text)[1:]:
        body = part[: re.search(r"(?m)^  \}\n", part).end()]
        yield f"{aliases}\nmodule {{\n  {body}}}\n"


def run(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}\n{result.stderr}")
    return result.stdout


def compile_model(model, scratch):
    formed = run("fastk-opt", model, "--fastk-form-workloads", "--fastk-lower-workloads")
    count = 0
    for number, lowering in enumerate(split_lowerings(formed)):
        here = scratch / f"{model.stem}.{number}"
        here.mkdir()
        (here / "lowering.mlir").write_text(lowering)
        for role in ("program", "oracle"):
            folders = [here / role]
            # The small models have the same kernels once more.
            if role == "program" and not model.stem.endswith("_small"):
                folders.append(here / "again")
            for folder in folders:
                run("fastk-opt", here / "lowering.mlir", f"--compile-kernel={role}", TARGET, "-o", folder)
            for name in ("kernel.ptx", "plan.json"):
                if not filecmp.cmp(folders[0] / name, folders[-1] / name, shallow=False):
                    sys.exit(f"{model.stem}: {role} {number}: {name} differs from run to run")
            # A kernel that calls what is not in it does not load.
            if ".extern .func" in (folders[0] / "kernel.ptx").read_text():
                sys.exit(f"{model.stem}: {role} {number}: calls an external function")
            count += 1
    return count


def main():
    scratch = pathlib.Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    models = sorted(pathlib.Path(sys.argv[1]).glob("*.mlir"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda model: compile_model(model, scratch), models))
    print(f"{len(models)} models, {sum(counts)} programs and oracles")


main()
