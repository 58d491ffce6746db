"""Makes FOLDER a CUDA toolkit of ptxas alone: bare_toolkit.py FOLDER."""

import glob
import os
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[3]
places = [os.environ.get(name, "") for name in ("FASTK_CUDA_PATH", "CUDA_HOME", "CUDA_PATH")]
places += ["/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
for venv in (os.environ.get("VIRTUAL_ENV", ""), str(root / ".venv")):
    places += glob.glob(venv + "/lib/python3*/site-packages/nvidia/cu*")
folder = pathlib.Path(sys.argv[1]) / "bin"
folder.mkdir(parents=True)
for place in filter(None, places):
    ptxas = pathlib.Path(place) / "bin" / "ptxas"
    # A script that starts it is no program for a confined process.
    if ptxas.is_file() and ptxas.open("rb").read(4) == b"\x7fELF":
        (folder / "ptxas").symlink_to(ptxas.resolve())
        sys.exit()
sys.exit("no toolkit here has ptxas")
