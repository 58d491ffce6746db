#!/usr/bin/env python3
# ===- run-notebooks.py - Runs docs/notebooks -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the notebooks of docs/notebooks as Jupyter does, and keeps them with outputs.

    scripts/run-notebooks.py [-o FOLDER] [NOTEBOOK...]

FOLDER (default: build/notebooks) gets the notebooks that ran; scripts/build-site.sh
shows the outputs of those in build/notebooks that are still the same. The checkout gets
nothing: notebooks are committed without outputs. Needs scripts/install-deps.sh --import
--notebooks, run by .venv/bin/python, and build/dev; FASTK_BIN names another folder of
programs.

Exit codes: 0 all ran; 1 a cell failed, or a notebook is committed with outputs.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
TIMEOUT = 600  # seconds for a cell


def set_environment():
    """The programs and the package for cells, and a bank that is not the user's."""
    programs = os.environ.get("FASTK_BIN", ROOT / "build" / "dev" / "bin")
    path = [pathlib.Path(sys.executable).parent, programs, os.environ["PATH"]]
    os.environ["PATH"] = os.pathsep.join(map(str, path))
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    os.environ.pop("FASTK_BANK", None)


def complaint(notebook):
    """What is wrong with a notebook as it is committed, or None."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count):
            return "has outputs: clear them before it is committed"
    return None


def run(path, folder):
    """What went wrong, or None; the notebook with its outputs goes to a folder."""
    import nbclient
    import nbformat
    import traitlets.config

    notebook = nbformat.read(path, as_version=4)
    if problem := complaint(notebook):
        return problem
    # As deep as in the checkout, whose scripts a cell may name.
    with tempfile.TemporaryDirectory(prefix="fastk-notebook-") as scratch:
        for name in ("scripts", "docs/searches", "test", "build", "python"):
            (pathlib.Path(scratch) / name).parent.mkdir(exist_ok=True)
            os.symlink(ROOT / name, pathlib.Path(scratch) / name)
        where = pathlib.Path(scratch) / "docs" / "notebooks"
        where.mkdir()
        # Neither a user's settings nor their history.
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[name] = tempfile.mkdtemp(dir=scratch)
        # In the folder, which nobody else may enter, instead of ports of the machine.
        sockets = {"transport": "ipc", "ip": os.path.join(scratch, "kernel")}
        client = nbclient.NotebookClient(
            notebook,
            timeout=TIMEOUT,
            startup_timeout=TIMEOUT,
            resources={"metadata": {"path": str(where)}},
            config=traitlets.config.Config({"KernelManager": sockets}),
        )
        try:
            client.execute()
        except nbclient.exceptions.CellExecutionError as error:
            return str(error)
        except nbclient.exceptions.CellTimeoutError:
            return f"a cell still runs after {TIMEOUT} s"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / path.name)
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", type=pathlib.Path, nargs="*", metavar="NOTEBOOK")
    parser.add_argument(
        "-o", dest="folder", type=pathlib.Path, default=ROOT / "build" / "notebooks"
    )
    options = parser.parse_args()
    set_environment()
    failures = 0
    for path in options.notebooks or sorted(NOTEBOOKS.glob("*.ipynb")):
        problem = run(path, options.folder)
        failures += bool(problem)
        print(f"{path.name}: {f'FAILED: {problem}' if problem else 'ok'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
