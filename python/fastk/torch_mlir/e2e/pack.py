# ===- pack.py - Tests for another machine -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A folder of compiled tests, which a machine with a GPU and no compiler runs.

    FOLDER/libfastk_runtime.so
    FOLDER/tests/NAME.zip      libraries, signatures and inputs of a test's calls
    FOLDER/results/NAME.zip    what came of them: result.json and the outputs

Tensors are bytes, as the library takes them. Nothing here needs more than Python.
"""

import dataclasses
import json
import os
import shutil
import tempfile
import zipfile

FORMAT = 1


class PackError(Exception):
    """A folder or file that is no pack; the message says why."""


@dataclasses.dataclass
class Call:
    """One call of a compiled function.

    Attributes:
      function: its name.
      signature: as the library has it, a dict.
      library: the bytes of the library.
      inputs: the bytes of each input.
    """

    function: str
    signature: dict
    library: bytes
    inputs: list


@dataclasses.dataclass
class Result:
    """What came of a test: `outputs` has a list of bytes for each call that ended.

    `status` is ok, fail, crash or timeout; `pack` the digest of what was run.
    """

    status: str
    reason: str = ""
    seconds: float = 0.0
    machine: str = ""
    pack: str = ""
    outputs: list = dataclasses.field(default_factory=list)


class Pack:
    """The folder. `made_by` names the program that compiled."""

    def __init__(self, folder):
        # Children work elsewhere.
        self.folder = folder = os.path.abspath(folder)
        self.runtime = os.path.join(folder, "libfastk_runtime.so")

    def make(self, runtime):
        """Makes the folders, with a copy of the runtime."""
        for each in ("tests", "results"):
            os.makedirs(os.path.join(self.folder, each), exist_ok=True)
        if runtime != self.runtime:
            shutil.copyfile(runtime, self.runtime)

    def names(self):
        """The tests that are packed."""
        try:
            found = os.listdir(os.path.join(self.folder, "tests"))
        except OSError as error:
            raise PackError(
                f"{self.folder} is no folder of compiled tests ({error.strerror}): the "
                "step compile makes it"
            ) from None
        return sorted(name.removesuffix(".zip") for name in found if name[0] != ".")

    def path(self, kind, name):
        return os.path.join(self.folder, kind, f"{name}.zip")

    def has(self, name, made_by):
        """Whether the test is there, by this very program."""
        try:
            with zipfile.ZipFile(self.path("tests", name)) as file:
                return json.loads(file.read("test.json"))["made_by"] == made_by
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return False

    def remove(self, name):
        for kind in ("tests", "results"):
            if os.path.exists(self.path(kind, name)):
                os.unlink(self.path(kind, name))

    def digest(self, name):
        """What a result of the test belongs to."""
        with zipfile.ZipFile(self.path("tests", name)) as file:
            return ".".join(f"{each.CRC:08x}" for each in file.infolist())

    def write_test(self, name, calls, made_by):
        described = [
            {"function": call.function, "signature": call.signature,
             "inputs": len(call.inputs)}
            for call in calls
        ]  # fmt: skip
        about = {"format": FORMAT, "made_by": made_by, "calls": described}
        contents = {"test.json": json.dumps(about).encode()}
        for number, call in enumerate(calls):
            contents[f"{number}.so"] = call.library
            for index, data in enumerate(call.inputs):
                contents[f"{number}.in{index}"] = data
        _write(self.path("tests", name), contents)

    def read_test(self, name):
        """The calls of a test."""
        try:
            with zipfile.ZipFile(self.path("tests", name)) as file:
                about = json.loads(file.read("test.json"))
                if about["format"] != FORMAT:
                    raise PackError(f"{name} is of another fastk: pack it again")
                return [
                    Call(
                        each["function"], each["signature"], file.read(f"{number}.so"),
                        [file.read(f"{number}.in{i}") for i in range(each["inputs"])],
                    )
                    for number, each in enumerate(about["calls"])
                ]  # fmt: skip
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise PackError(f"{name} cannot be read: {error}: pack it again") from None

    def write_result(self, name, result):
        fields = dataclasses.asdict(result)
        outputs = fields.pop("outputs")
        fields["counts"] = [len(each) for each in outputs]
        contents = {"result.json": json.dumps(fields).encode()}
        for number, call in enumerate(outputs):
            for index, data in enumerate(call):
                contents[f"{number}.out{index}"] = data
        _write(self.path("results", name), contents)

    def read_result(self, name):
        """The Result, or None where there is none of what is packed now."""
        try:
            with zipfile.ZipFile(self.path("results", name)) as file:
                fields = json.loads(file.read("result.json"))
                counts = fields.pop("counts")
                result = Result(**fields)
                if result.pack != self.digest(name):
                    return None
                result.outputs = [
                    [file.read(f"{number}.out{i}") for i in range(count)]
                    for number, count in enumerate(counts)
                ]
                return result
        except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile):
            return None


def _write(path, contents):
    """Writes a file under another name and renames it."""
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
                for member, data in contents.items():
                    # Without the time: the same contents are the same file.
                    archive.writestr(zipfile.ZipInfo(member), data, zipfile.ZIP_LZMA)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
