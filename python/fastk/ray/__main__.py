# ===- __main__.py - python -m fastk.ray -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------===#
"""python -m fastk.ray ADDRESS SPOOL: answer a spool of jobs on a Ray cluster.

ADDRESS is as Ray has it: auto, HOST:PORT, ray://HOST:10001, or local for a cluster of this
machine alone. SPOOL is what fastk-opt --evaluator=spool:DIR writes; it stays on this machine.
An actor for each GPU has a fastk-worker in it. Runs until Ctrl-C; whoever is killed, the same
command goes on. See docs/ray.md.
"""

import argparse
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from .. import commandline, locks

#: The cluster cannot be reached at this moment.
UNREACHABLE = 75
#: A driver that dies sooner than this says something of the cluster; so many such deaths in a
#: row are enough. As fastk-worker has it of its workers.
SOON, MOST_SOON_DEATHS = 30, 5
#: Before a driver is started again that died soon more than once in a row, in seconds; and
#: where the cluster cannot be reached.
PAUSE, UNREACHABLE_PAUSE = 1, 5
#: What the driver gets to end in.
PATIENCE = 10
#: What Ray says, among much else, where a cluster wants its token.
REFUSED = "InvalidAuthToken"
#: How long a head node gets to take a connection.
KNOCK = 5


def say(text):
    print(f"ray: {text}", file=sys.stderr, flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m fastk.ray",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit codes: 0 ended by Ctrl-C or SIGTERM, 1 the options, Ray or the address are "
        "wrong",
    )
    commandline.use_exit_code_1(parser)
    parser.add_argument("address", help="the cluster")
    parser.add_argument("spool", help="the folder of jobs")
    parser.add_argument(
        "--workers", type=int, default=0, help="use at most so many GPUs"
    )
    parser.add_argument(
        "--rehearse",
        help="give the verdicts of this answered spool, a path on every node, each after as "
        "long as it took: needs no GPU; one worker, or as many as --workers says",
    )
    parser.add_argument(
        "--worker",
        help="fastk-worker on every node (default: $FASTK_WORKER there, or in PATH)",
    )
    # The process that started it.
    parser.add_argument("--driver", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.workers < 0:
        parser.error("--workers wants a number above 0")
    if options.rehearse and not os.path.isdir(options.rehearse):
        parser.error(
            f"--rehearse wants an answered spool, and '{options.rehearse}' is no folder"
        )
    return parser, options


def one_line(error):
    return " ".join(str(error).split())[:500]


def knock(address):
    """Raises OSError where nothing listens: Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()


def may_use_token():
    """Whether Ray has a token that it would use if it were told to: for a cluster that is
    there it does so only then, and one without a token takes nobody who has it."""
    if "RAY_AUTH_MODE" in os.environ:
        return False
    names = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    return any(map(os.environ.get, names)) or os.path.exists(
        os.path.expanduser("~/.ray/auth_token")
    )


def tell_of_refusal():
    """Ray Client tells its debug log alone that a cluster wants its token."""

    def look(record):
        if "authentication token" in record.getMessage().lower():
            say(f"{REFUSED}: the cluster wants its token")
        return record.levelno >= logging.WARNING

    log = logging.getLogger("ray.util.client.worker")
    log.setLevel(logging.DEBUG)
    log.addFilter(look)


def drive(parser, options):
    """The driver itself, a process that may be killed."""
    try:
        import ray
    except ImportError as error:
        commandline.fail(
            parser, f"{error}: install fastk's extra ray: pip install 'fastk[ray]'"
        )
    from .folder import Spool
    from .mover import Mover

    settings = {
        "namespace": "fastk",
        "log_to_driver": False,
        "logging_level": "WARNING",
    }
    if options.address == "local":
        # Jobs are small, and times are taken here: Ray makes its processes nice.
        settings["object_store_memory"] = 256 << 20
        os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        knock(options.address)
        if options.address.startswith("ray://"):
            tell_of_refusal()
        ray.init(options.address, **settings)
    except OSError as error:
        say(f"error: {options.address}: {one_line(error)}; is the head node up?")
        return UNREACHABLE
    except (RuntimeError, ValueError, ImportError) as error:
        say(f"error: {options.address}: {one_line(error)}")
        return 1
    say(f"connected to {options.address}")
    spool = Spool(options.spool)
    spool.look()
    spool.free_claims()
    mover = Mover(spool, say, options.workers, options.rehearse, options.worker)

    def end(*_):
        mover.ended = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    try:
        mover.run()
    except ConnectionError as error:
        say(f"error: {options.address}: {one_line(error)}; connects anew")
        # Ray's own way out would wait for the cluster.
        sys.stderr.flush()
        os._exit(UNREACHABLE)
    ray.shutdown()
    return 0


class Supervisor:
    """Starts the driver, and starts it again when it dies: all that it knows is in the spool."""

    def __init__(self, arguments):
        driver = f"--driver={os.getpid()}"
        self.command = [sys.executable, "-m", "fastk.ray", driver, *arguments]
        self.driver, self.ended = None, False
        self.soon_deaths, self.was_connected, self.was_wrong = 0, False, False
        self.said, self.was_refused = None, False

    def end(self, *_):
        self.ended = True
        if self.driver and self.driver.poll() is None:
            self.driver.terminate()
            late = threading.Timer(PATIENCE, self.driver.kill)
            late.daemon = True
            late.start()

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.end)
        while not self.ended:
            started = time.monotonic()
            self.driver = subprocess.Popen(
                self.command, stderr=subprocess.PIPE, text=True, errors="replace"
            )
            # A signal that came before there was one to end.
            if self.ended:
                self.end()
            self.pass_on()
            code = self.driver.wait()
            if self.ended:
                break
            if code != 0 and not self.was_connected and self.wants_token():
                os.environ["RAY_AUTH_MODE"] = "token"
                say("connects with Ray's token")
                continue
            if (problem := self.why_over(code, time.monotonic() - started)) is not None:
                return problem
            if code == UNREACHABLE:
                self.pause(UNREACHABLE_PAUSE)
            elif self.soon_deaths > 1:
                self.pause(PAUSE)
        return 0

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while not self.ended and time.monotonic() < end:
            time.sleep(0.1)

    def pass_on(self):
        """Shows what the driver says. What Ray says goes with it."""
        self.was_wrong = False
        for line in self.driver.stderr:
            self.was_connected |= line.startswith("ray: connected")
            # Ray itself exits with 1 as well, where a process of it was too slow.
            self.was_wrong = ": error: " in line or line.startswith("remedy: ")
            # It would try for a while.
            if REFUSED in line and may_use_token():
                self.was_refused = True
                self.driver.kill()
            # A cluster that is away is tried often, and said so once.
            if line != self.said:
                sys.stderr.write(line)
                sys.stderr.flush()
            self.said = line

    def wants_token(self):
        """Only a cluster that asked for it is offered the token, not whatever answers."""
        return self.was_refused and may_use_token()

    def why_over(self, code, seconds):
        """The exit code where nothing is tried any more, else None."""
        if code == 0 or (code == 1 and self.was_wrong):
            return code
        if code == UNREACHABLE:
            return None if self.was_connected else 1
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.soon_deaths = self.soon_deaths + 1 if seconds < SOON else 0
        if self.soon_deaths >= MOST_SOON_DEATHS:
            say(
                f"error: the driver ended {self.soon_deaths} times within {SOON} s, by {how}"
            )
            return 1
        say(f"the driver ended by {how}; starts again")
        return None


def end_with_parent(parent):
    """SIGTERM when the process `parent` dies, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    # If it died before this, nobody will say so.
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)


def hold(path):
    """The folder's lock. That of a search that was killed a moment ago is ending."""
    end = time.monotonic() + PATIENCE + PAUSE
    while True:
        try:
            return locks.hold(path, "folder")
        except locks.BusyError:
            if time.monotonic() > end:
                raise
            time.sleep(PAUSE / 10)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    commandline.open_streams()
    parser, options = parse(arguments)
    if options.driver:
        end_with_parent(options.driver)
        return drive(parser, options)
    try:
        os.makedirs(options.spool, exist_ok=True)
        lock = hold(os.path.join(options.spool, ".ray"))
    except locks.BusyError:
        commandline.fail(
            parser, f"{options.spool}: another python -m fastk.ray has this folder"
        )
    except OSError as error:
        commandline.fail(parser, f"{error.filename}: {error.strerror}")
    with lock:
        return Supervisor(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
