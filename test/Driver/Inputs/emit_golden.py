"""emit_golden.py FOLDER SCRATCH: a library for a GPU of every small model of FOLDER,
twice, with the same bytes; loads it and asks it to run, which without a GPU it
refuses with the reason. Prints how many there were."""
import ctypes
import filecmp
import json
import pathlib
import shutil
import subprocess
import sys


def compile_model(model, output):
    result = subprocess.run(
        ["fastk-opt", model, "--target=cuda:sm_90a", "--emit=so", "-o", output,
         f"--bank={output.parent}"], capture_output=True, text=True)  # fmt: skip
    if result.returncode:
        sys.exit(f"{model.stem}: {result.stderr}")


def main():
    scratch = pathlib.Path(sys.argv[2])
    runtime = ctypes.CDLL(sys.argv[3])
    runtime.fastk_last_error.restype = ctypes.c_char_p
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    models = sorted(pathlib.Path(sys.argv[1]).glob("*_small.mlir"))
    launches = 0
    for model in models:
        one, two = scratch / f"{model.stem}.so", scratch / f"{model.stem}.2.so"
        compile_model(model, one)
        compile_model(model, two)
        if not filecmp.cmp(one, two, shallow=False):
            sys.exit(f"{model.stem}: the library differs from run to run")
        library = ctypes.CDLL(str(one))
        text = ctypes.c_char.in_dll(library, "fastk_signature_forward")
        signature = json.loads(ctypes.string_at(ctypes.addressof(text)))
        about = json.loads(model.with_suffix(".mlir.json").read_text())
        for ours, theirs in (("inputs", "arguments"), ("outputs", "results")):
            want = [{k: each[k] for k in ("dtype", "shape")} for each in about[theirs]]
            if signature[ours] != want:
                sys.exit(f"{model.stem}: {ours} are {signature[ours]}, not {want}")
        launches += one.read_bytes().count(b'{"launch":')
        runtime.fastk_clear_error()
        status = library.fastk_prepare_forward()
        error = runtime.fastk_last_error().decode()
        if bool(status) != bool(error):
            sys.exit(f"{model.stem}: status {status}, error '{error}'")
        if status and "no NVIDIA driver" not in error:
            sys.exit(f"{model.stem}: {error}")
    print(f"{len(models)} models, {launches} launches")


main()
