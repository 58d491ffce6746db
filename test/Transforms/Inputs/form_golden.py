"""form_golden.py FOLDER SCRATCH COMMAND...: every model of FOLDER formed by COMMAND,
a fastk-opt, in every mode, and dissolved again. Prints how many there were.

All models are one file of many modules: most of what so small ones take is the start
of the compiler, and each module still has a context of its own."""
import pathlib
import re
import subprocess
import sys

SPLIT = "// -----"
# Read at positions which are data: fastk_form_workloads_checked.test.
CHECKED = {"cross_entropy_small", "embedding_small"}
# What is more than one workload when all that can be is fused.
GREEDY = {
    "gated_mlp_small": 3,
    "inverted_residual_small": 3,
    "mlp": 2,
    "mlp_small": 2,
    "resnet_block": 2,
    "resnet_block_small": 2,
    "transformer_block": 7,
    "transformer_block_small": 7,
    "transposed_conv_small": 2,
}


class Models:
    def __init__(self, folder, scratch, command):
        files = sorted(pathlib.Path(folder).glob("*.mlir"))
        files = [file for file in files if file.stem not in CHECKED]
        self.names = [file.stem for file in files]
        missing = GREEDY.keys() - set(self.names)
        assert not missing, f"there is no {missing}"
        scratch = pathlib.Path(scratch)
        scratch.write_text(f"{SPLIT}\n".join(file.read_text() for file in files))
        self.command = [*command, scratch, "--split-input-file"]

    def run(self, *options):
        """What it prints to its output, and to its errors."""
        result = subprocess.run([*self.command, *options], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{options}: exit {result.returncode}\n{result.stderr}")
        return result.stdout, result.stderr

    def each(self, text, separator):
        """Yields the name of each model and its part of a text."""
        parts = [part for part in re.split(separator, text) if part.strip()]
        assert len(parts) == len(self.names), f"{len(parts)} parts by {separator}"
        return zip(self.names, parts)

    def operations(self, *options):
        """The ops of each model."""
        _, stats = self.run(*options, "--print-op-stats", "-o", "/dev/null")
        return dict(self.each(stats, r"(?m)^Operations encountered:$"))


def check_forms(models, mode):
    text, _ = models.run(f"--fastk-form-workloads=fusion={mode}")
    for name, module in models.each(text, rf"(?m)^{SPLIT}$"):
        found = len(re.findall(r"(?m)^    %.* = fastk\.workload", module))
        left = re.findall(r"(?m)^    %.* = linalg\..*$", module)
        assert not left, f"{name}, {mode}: outside of workloads: {left}"
        wanted = GREEDY.get(name, 1) if mode == "greedy" else 1
        is_right = found >= 1 if mode == "op" else found == wanted
        assert is_right and "return" in module, f"{name}, {mode}: {found} workloads"


def main():
    models = Models(sys.argv[1], sys.argv[2], sys.argv[3:])
    before = models.operations()
    for mode in ("op", "greedy", "whole"):
        check_forms(models, mode)
        after = models.operations(f"--fastk-form-workloads=fusion={mode}", "--fastk-inline-workloads")
        for name in models.names:
            assert before[name] == after[name], f"{name}, {mode}:\n{before[name]}{after[name]}"
    print(f"{len(models.names)} models")


main()
