# ===- setup.py - What pyproject.toml cannot say -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""With programs in fastk/native, where scripts/wheel.sh puts them, the package is for
one platform and has commands. In a checkout it has neither."""

import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

#: What the programs need: scripts/wheel.sh checks it.
PLATFORM = "manylinux_2_34_x86_64"


class WithPrograms(Distribution):
    def has_ext_modules(self):
        # So that it is installed as what is for one platform.
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        # Of any Python: nothing is an extension module.
        return "py3", "none", PLATFORM


if pathlib.Path(__file__).with_name("fastk").joinpath("native").is_dir():
    setup(
        distclass=WithPrograms,
        cmdclass={"bdist_wheel": PlatformWheel},
        scripts=sorted(map(str, pathlib.Path("commands").iterdir())),
        data_files=[("share/man/man1", sorted(map(str, pathlib.Path("man/man1").iterdir())))],
    )
else:
    setup()
