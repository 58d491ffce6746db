#!/usr/bin/env python3
# ===- check-wheel.py - What a wheel needs of a machine -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds fastk's wheel to its name: what its programs need is in glibc 2.34.

    scripts/check-wheel.py WHEEL

Prints a line for each program and library: its size, the newest glibc that it needs, the
libraries that it loads. Wrong are: a newer glibc, a C++ library that the policy of the
name does not know, another library than glibc's, libgcc's and those in the wheel, a search
path outside of the wheel, a wheel of 100 MB or more, which PyPI refuses. Needs
pyelftools, as auditwheel does; run by scripts/wheel.sh.

Exit codes: 0 all is as the name says; 1 it is not, with a line for each problem.
"""

import io
import pathlib
import re
import sys
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

LARGEST = 100 * 1000 * 1000
#: Where every machine with glibc has them, and auditwheel's policy allows them.
EVERYWHERE = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s)|ld-linux-x86-64)\.so\.\d")
#: A library of PyTorch's own process may use the C++ library that is there; versions
#: as the policy has them.
WITH_TORCH = {"libfastk_torch.so": ("libstdc++.so.6",)}
NEWEST = {"GLIBC": (2, 34), "GCC": (11, 0), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}


def needs(data):
    """(libraries, {kind: newest version}, search paths) of an ELF file."""
    libraries, versions, paths = [], {}, []
    for section in ELFFile(io.BytesIO(data)).iter_sections():
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags():
                if tag.entry.d_tag == "DT_NEEDED":
                    libraries.append(tag.needed)
                elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                    value = getattr(tag, "rpath", None) or tag.runpath
                    paths += value.split(":")
        if isinstance(section, GNUVerNeedSection):
            for _, wanted in section.iter_versions():
                for each in wanted:
                    kind, _, number = each.name.partition("_")
                    if number[:1].isdigit():
                        version = tuple(int(part) for part in number.split("."))
                        versions[kind] = max(versions.get(kind, ()), version)
    return libraries, versions, paths


def problems_of(name, inside, libraries, versions, paths):
    extra = WITH_TORCH.get(name, ())
    for library in libraries:
        if not (EVERYWHERE.fullmatch(library) or library in inside or library in extra):
            yield f"{name} needs {library}, which a machine may not have"
    for kind, version in versions.items():
        number = ".".join(map(str, version))
        if kind not in NEWEST or (kind in ("GLIBCXX", "CXXABI") and not extra):
            yield f"{name} needs {kind}_{number}, and should have it in itself"
        elif version > NEWEST[kind]:
            most = ".".join(map(str, NEWEST[kind]))
            yield f"{name} needs {kind}_{number}, and may need {most} at most"
    for path in dict.fromkeys(paths):
        if not path.startswith("$ORIGIN"):
            yield f"{name} looks for libraries in '{path}'"


def check(path):
    problems = []
    size = path.stat().st_size
    if size >= LARGEST:
        problems.append(f"{path.name} has {size} bytes, and may have {LARGEST}")
    if "-py3-none-manylinux_2_34_x86_64" not in path.name:
        problems.append(f"{path.name} is not named py3-none-manylinux_2_34_x86_64")
    with zipfile.ZipFile(path) as wheel:
        files = [info for info in wheel.infolist() if not info.is_dir()]
        inside = {pathlib.PurePath(info.filename).name for info in files}
        for info in files:
            with wheel.open(info) as file:
                if file.read(4) != b"\x7fELF":
                    continue
            name = pathlib.PurePath(info.filename).name
            found = needs(wheel.read(info))
            problems += problems_of(name, inside, *found)
            libc = ".".join(map(str, found[1].get("GLIBC", ())))
            print(
                f"{name:22} {info.file_size / 1e6:6.1f} MB, {info.compress_size / 1e6:5.1f} "
                f"in the wheel; glibc {libc}; {', '.join(found[0])}"
            )
    print(f"{path.name}: {size / 1e6:.1f} MB, {len(files)} files")
    return problems


def main(arguments):
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return int(arguments[:1] not in (["-h"], ["--help"]))
    problems = check(pathlib.Path(arguments[0]))
    for problem in problems:
        print(f"check-wheel: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
