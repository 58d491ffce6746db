# ===- ports.py - Where a test's server listens -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------===#
"""A port for a server that must be told one before it starts."""

import pathlib
import random
import socket

#: Ray's workers have those below; the kernel gives those above to clients, on most machines.
FIRST, BEYOND = 20000, 32768
RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port():
    """One that nobody has, and that no client is given before the server takes it."""
    beyond = min(BEYOND, int(RANGE.read_text().split()[0]))
    if beyond <= FIRST:
        beyond = BEYOND
    # Tests that run beside, and have seeded their numbers, are to find others.
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(FIRST, beyond)
        with socket.socket() as probe:
            # As servers do, which come back to a port that was theirs.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
