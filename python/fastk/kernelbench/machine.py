# ===- machine.py - What measured -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The machine as a row of results names it."""

import contextlib
import platform
import subprocess


def describe(device):
    """{"device", "torch"} and on a GPU {"driver", "clocks"}, of this moment."""
    import torch

    said = {"torch": torch.__version__}
    if device != "cuda":
        return {"device": platform.processor() or platform.machine(), **said}
    said["device"] = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    uuid = str(torch.cuda.get_device_properties().uuid).removeprefix("GPU-")
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        asked = subprocess.run(
            [
                "nvidia-smi",
                f"--id=GPU-{uuid}",
                "--query-gpu=driver_version,clocks.sm,clocks.mem,temperature.gpu",
                "--format=csv,noheader,nounits",
            ],
            capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
        driver, sm, memory, celsius = asked.stdout.strip().split(", ")
        said["driver"] = driver
        said["clocks"] = {"sm_mhz": int(sm), "memory_mhz": int(memory), "celsius": int(celsius)}
    return said
