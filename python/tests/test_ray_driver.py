# ===- test_ray_driver.py - Who starts a cluster's driver -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------===#
"""`python -m fastk.ray` with drivers that only say what Ray's would: signals at a bad moment,
and clusters that want a token, or are away. Needs no Ray."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import PYTHON

#: What may pass here by far.
PATIENCE = 120

SUPERVISE = """
import os, signal, subprocess, sys
from fastk.ray import __main__ as main
main.UNREACHABLE_PAUSE = main.PAUSE = 0.1
supervisor = main.Supervisor([])
supervisor.command = [sys.executable, "-c", os.environ["DRIVER"]]
"""


def supervise(driver, code="", **environment):
    """Runs a supervisor whose driver is this code of Python."""
    before = {
        name: value for name, value in os.environ.items() if "RAY_AUTH" not in name
    }
    return subprocess.run(
        [sys.executable, "-c", SUPERVISE + code + "\nsys.exit(supervisor.run())"],
        env=before | {"PYTHONPATH": str(PYTHON), "DRIVER": driver} | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


#: Says whether Ray may use its token.
TELLS = """
import os, sys, time
print("mode", os.environ.get("RAY_AUTH_MODE"), file=sys.stderr, flush=True)
"""
AWAY = TELLS + """
print("ray: error: head:1: refused; is the head node up?", file=sys.stderr, flush=True)
sys.exit(75)
"""
WANTS_TOKEN = TELLS + """
if os.environ.get("RAY_AUTH_MODE") == "token":
    sys.exit(0)
print("E InvalidAuthToken: Authentication token is missing", file=sys.stderr, flush=True)
time.sleep(600)
"""


def test_a_signal_while_the_driver_starts_ends_it():
    """It comes when there is one, but nobody knows of it yet."""
    code = """
start = subprocess.Popen
def popen(*arguments, **options):
    process = start(*arguments, **options)
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = popen
"""
    assert supervise("import time; time.sleep(600)", code).returncode == 0


def test_a_cluster_that_is_away_is_not_offered_the_token():
    result = supervise(AWAY, RAY_AUTH_TOKEN="secret")
    assert result.returncode == 1
    assert "mode None" in result.stderr and "mode token" not in result.stderr
    assert "connects with" not in result.stderr


def test_a_cluster_that_asks_for_the_token_gets_it():
    result = supervise(WANTS_TOKEN, RAY_AUTH_TOKEN="secret")
    assert result.returncode == 0
    assert "ray: connects with Ray's token" in result.stderr
    assert result.stderr.index("mode None") < result.stderr.index("mode token")
    assert "secret" not in result.stderr


def test_a_mode_that_people_set_stays(tmp_path):
    result = supervise(AWAY, RAY_AUTH_TOKEN="secret", RAY_AUTH_MODE="disabled")
    assert result.returncode == 1 and "mode token" not in result.stderr


@pytest.mark.parametrize("parent", ["1", "999999999"])
def test_a_driver_whose_parent_died_before_it_does_not_begin(tmp_path, parent):
    command = [sys.executable, "-m", "fastk.ray", f"--driver={parent}", "auto"]
    result = subprocess.run(
        [*command, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(PYTHON)},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
