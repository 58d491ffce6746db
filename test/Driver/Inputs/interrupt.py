"""Ends a real search by a signal in the middle of an evaluation, and looks at what is left.

For SIGINT, SIGTERM, SIGHUP and SIGKILL to fastk-opt alone, and SIGINT to the whole group as a terminal sends
it: the exit code, the processes that are still there, the journal, the temporary files; then the
search goes on and must not repeat an evaluation that was recorded. What is tried is right and slow, so
that no second measurement is made: resume.py interrupts searches that have a winner.

usage: interrupt.py FASTK_OPT MODEL SCRATCH
MODEL: golden's matmul_f32_small
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib


# Other code each, as programs of one code share a verdict.
SLOW = """void fastk_kernel(const float *a, const float *b, float *c, void *workspace) {{
  for (int i = 0; i < 48; ++i)
    for (int j = 0; j < 56; ++j) {{
      volatile double sum;
      for (int times = 0; times < 20 + {number}; ++times) {{
        sum = 0;
        for (int k = 0; k < 80; ++k)
          sum = sum + (double)a[i * 80 + k] * b[k * 56 + j];
      }}
      c[i * 56 + j] = sum;
    }}
}}
"""
IDEA = "# Slow {number}\nCategory: compute and instructions\n\nSums are kept in memory.\n"


def write_variants(folder, count):
    for number in range(count):
        variant = os.path.join(folder, f"slow-{number}")
        os.makedirs(variant)
        for name, text in (("kernel.c", SLOW), ("idea.md", IDEA)):
            with open(os.path.join(variant, name), "w", encoding="utf-8") as file:
                file.write(text.format(number=number))


def processes(folder):
    """Processes that run from `folder` or name it in their command line, zombies left out."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                state = file.read().rpartition(")")[2].split()[0]
            exe = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        line = b" ".join(words).decode(errors="replace")
        if int(pid) != os.getpid() and state != "Z" and (folder in line or exe.startswith(folder)):
            found[int(pid)] = line
    return found


def lines(journal):
    """Every whole line of every journal under `journal`, checked. The last one of a search that
    runs, or was killed, may not be whole."""
    found = []
    for root, _, files in sorted(os.walk(journal)):
        for name in files:
            if name.endswith(".jsonl"):
                with open(os.path.join(root, name), "rb") as file:
                    for line in file:
                        if not line.endswith(b"\n"):
                            continue
                        check, body = line[10:18].decode(), line[28:-2]
                        if int(check, 16) != zlib.crc32(body):
                            sys.exit(f"the journal has a damaged line: {line!r}")
                        found.append((root, body.decode()))
    return found


def evaluations(found):
    return [body for _, body in found if json.loads(body)["type"] == "evaluation"]


def main():
    fastk_opt, model, scratch = sys.argv[1:]
    scratch = os.path.realpath(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    tools = os.path.join(scratch, "bin")
    os.makedirs(tools)
    real = os.path.dirname(os.path.realpath(shutil.which(fastk_opt)))
    for tool in ("fastk-opt", "fastk-worker"):
        shutil.copy(os.path.join(real, tool), tools)
    fastk_opt = os.path.join(tools, "fastk-opt")
    variants = os.path.join(scratch, "variants")
    write_variants(variants, 4)
    # Whoever runs this test may name the folder, too.
    others = set(processes(scratch))

    def left():
        return {pid: line for pid, line in processes(scratch).items() if pid not in others}

    for number, to_group, code in [(signal.SIGINT, False, 130), (signal.SIGINT, True, 130),
                                   (signal.SIGTERM, False, 143), (signal.SIGHUP, False, 129),
                                   (signal.SIGKILL, False, -9)]:
        name = number.name + ("-group" if to_group else "")
        folder = os.path.join(scratch, name)
        temporary = os.path.join(folder, "tmp")
        os.makedirs(temporary)
        journal = os.path.join(folder, "journal")
        out = os.path.join(folder, "out.mlir")
        command = [fastk_opt, model, "--search", f"--bank={folder}/bank", f"--journal={journal}",
                   f"--proposer=files:{variants}", "--repairs=0", "-o", out]
        environment = dict(os.environ, TMPDIR=temporary)
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment,
                                   start_new_session=True)
        # In the middle: something is recorded, and a worker runs.
        deadline = time.time() + 300
        while not (os.path.isdir(journal) and evaluations(lines(journal)) and
                   any("fastk-worker" in line for line in processes(tools).values())):
            if process.poll() is not None or time.time() > deadline:
                sys.exit(f"{name}: the search never was in the middle:\n{process.stderr.read()}")
            time.sleep(0.005)
        sent = time.time()
        os.killpg(process.pid, number) if to_group else os.kill(process.pid, number)
        errors = process.communicate()[1]
        took = time.time() - sent
        if process.returncode != code:
            sys.exit(f"{name}: exit {process.returncode}, not {code}:\n{errors}")
        # A death is not always seen at once.
        deadline = time.time() + 60
        while left() and time.time() < deadline:
            time.sleep(0.01)
        if left():
            sys.exit(f"{name}: still there: {left()}")
        if took > 20:
            sys.exit(f"{name}: took {took:.0f} s to end")
        if os.path.exists(out):
            sys.exit(f"{name}: an output was written")
        if number != signal.SIGKILL:
            if "interrupted; the same command goes on from the journal" not in errors:
                sys.exit(f"{name}: does not say how to go on:\n{errors}")
            if os.listdir(temporary):
                sys.exit(f"{name}: left in the temporary folder: {os.listdir(temporary)}")
        before = lines(journal)

        again = subprocess.run(command, capture_output=True, text=True, env=environment)
        if again.returncode != 0:
            sys.exit(f"{name}: resumed, exit {again.returncode}:\n{again.stderr}")
        after = lines(journal)
        if after[:len(before)] != before:
            sys.exit(f"{name}: what was recorded is gone")
        names = [json.loads(body)["name"] for body in evaluations(after)]
        if len(set(names)) != len(names) or len(names) <= len(evaluations(before)):
            sys.exit(f"{name}: repeated, or did not go on: {names}")
        print(f"{name}: exit {code}, nothing left, resumed, nothing repeated")


main()
