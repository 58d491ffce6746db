//===- fastk-worker.cpp - A job on stdin, a verdict on stdout -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "Fleet.h"
#include "SpoolCommand.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/System/VectorLimit.h"
#include "fastk/Worker/Calibrate.h"
#include "fastk/Worker/Spool.h"
#include "fastk/Worker/Worker.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>

using namespace fastk::worker;

static constexpr char help[] =
    R"(OVERVIEW: fastk-worker - judges one program: is it right, and how fast

USAGE: fastk-worker < job.json > verdict.json
       fastk-worker --spool DIR [--follow] [--gpus=all]
       fastk-worker --calibrate
       fastk-worker --check host|cuda

Reads one job, runs its programs on generated inputs in sandboxed processes, and
writes one verdict. A job names shared objects, each exporting

  void fastk_kernel(const T *in0, ..., T *out0, ..., void *workspace)

  oracle     the same function with every float result as double
  baseline   the trusted kernel to compare errors and times with
  incumbent  the best so far (optional)
  candidate  the program to judge; it is never trusted

A job, to validate a candidate that adds two vectors:

  {"format": 1, "id": "add", "mode": "validate",
   "inputs": [{"type": "f32", "shape": [1024]}, {"type": "f32", "shape": [1024]}],
   "outputs": [{"type": "f32", "shape": [1024]}],
   "programs": {"oracle": {"path": "oracle.so"}, "baseline": {"path": "base.so"},
                "candidate": {"path": "new.so"}},
   "kind": "elementwise"}

mode: validate checks only; evaluate also times; promote does both with more
trials, repeated runs and an A/A control; compare runs the device's oracle and the
host's, without a candidate. docs/formats/job.md and verdict.md describe every field,
docs/validation.md how a candidate is judged.

With --spool, every DIR/job-*/job.json that has no verdict yet is answered by a
verdict.json beside it; what `fastk-opt --evaluator=spool:DIR` wrote is answered so
on any machine with the device, with no compiler and no network there. Interrupted,
it goes on where it was. Any number of workers may share a folder, on any machines
that see it, also over NFS: each claims the job that it answers, and a job whose
worker dies is free for the next. docs/workers.md shows whole set-ups.

  fastk-worker --spool /shared/spool --follow --gpus=all    (on each machine)
  fastk-opt model.mlir --target=cuda:sm_90a --search --evaluator=spool:/shared/spool?wait=600

With --calibrate, the GPU's bandwidths and rates are measured with kernels of its own,
written to the user's cache folder (device-MODEL.json) and shown beside the peaks; the
GPU should be idle. See docs/analysis.md.

With --check, nothing is judged: whether programs can be, and which protections this
machine does not offer them ("missing: ...").

OPTIONS:
  --spool DIR      Answer a folder of jobs
  --follow         Stay, and answer jobs as they come, until Ctrl-C
  --idle=SECONDS   With --follow: end after so long without a job
  --serve          For programs: answer the jobs that stdin names, a line each, and
                   tell of each on stdout; claims nothing. docs/formats/spool.md
  --gpus=all|0,2   A worker for each GPU of this machine, or for those named
  --share=I/N      Take every Nth job first, counted from I = 0: N workers of
                   one folder then seldom meet
  --rehearse=DIR   Give the verdicts of this answered spool as answers, each
                   after as long as it took: tries a set-up without a device
  --log-format=json  What is said at a spool as JSON, an object a line
  --metrics=FILE   Write this worker's numbers there for Prometheus, as its
                   textfile collector reads them (FILE.prom); with --gpus one
                   file for each, FILE-0.prom. docs/operators.md
  --calibrate      Measure the GPU of this machine
  --check          Tell whether programs can be judged here
  --help           This text
  --version        Version and formats

EXIT CODES: 0 every verdict was written, whatever it says; 1 the job or the command
line is wrong, with a diagnostic on stderr; 129, 130, 143 ended by SIGHUP, Ctrl-C or
SIGTERM: what was answered stays, the job at hand has no answer and is free for others.
)";

/// More than this is no job.
static constexpr size_t largestJob = size_t(64) << 20;

static void onSignal(int signal) {
  // Where something is to be said first, the signal comes again.
  if (handsOverEnding(signal))
    return;
  killAllPrograms();
  fastk::removeTemporaryFolders();
  _exit(128 + signal);
}

/// Programs must not outlive the worker.
static void catchSignals() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  for (int signal : fastk::endingSignals())
    sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

static bool readAll(std::string &text) {
  char chunk[65536];
  for (;;) {
    ssize_t got = read(STDIN_FILENO, chunk, sizeof(chunk));
    if (got == 0)
      return true;
    if (got < 0) {
      if (errno == EINTR)
        continue;
      fprintf(stderr,
              "fastk-worker: error: cannot read the job from stdin: %s\n",
              strerror(errno));
      return false;
    }
    text.append(chunk, size_t(got));
    if (text.size() > largestJob) {
      fprintf(stderr,
              "fastk-worker: error: the job is larger than 64 MiB; programs "
              "are named by path, not included\n");
      return false;
    }
  }
}

static int calibrate() {
  fastk::DeviceCalibration calibration;
  fastk::DeviceDescription device;
  auto fail = [](const std::string &why) {
    fprintf(stderr, "fastk-worker: error: cannot calibrate: %s\n", why.c_str());
    return 1;
  };
  if (std::string error = calibrateGpu(calibration); !error.empty())
    return fail(error);
  if (std::string error = fastk::cuda::queryCudaDevice(device); !error.empty())
    return fail(error);
  fputs(describe(calibration, device).c_str(), stdout);
  // What readers would refuse is not written.
  std::string problem;
  if (!fastk::parseDeviceCalibration(toJSON(calibration), problem))
    return fail("what was measured " + problem +
                "; is something else running on the GPU?");
  if (problem = applyCalibration(calibration, device); !problem.empty())
    return fail("it " + problem);
  std::string path = fastk::deviceCalibrationPath(calibration.model);
  if (path.empty())
    return fail("no cache folder is known: set FASTK_CACHE_DIR or HOME");
  if (problem = saveDeviceCalibration(calibration, path); !problem.empty())
    return fail(problem);
  printf("written to %s\n", path.c_str());
  return 0;
}

/// "missing: landlock, seccomp" where something is.
static int check(DeviceKind device) {
  std::vector<std::string> missing;
  if (std::string error = checkDevice(device, &missing); !error.empty()) {
    fprintf(stderr, "fastk-worker: error: %s\n", error.c_str());
    return 1;
  }
  for (size_t i = 0; i < missing.size(); ++i)
    printf("%s%s", i ? ", " : "missing: ", missing[i].c_str());
  if (!missing.empty())
    printf("\n");
  return 0;
}

static int run(int argc, char **argv) {
  if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
    fputs(help, stdout);
    return 0;
  }
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("fastk-worker (job format %lld, verdict format %lld)\n",
           (long long)jobFormat, (long long)verdictFormat);
    return 0;
  }
  if (argc == 2 && !strcmp(argv[1], "--calibrate"))
    return calibrate();
  // No program may look into this process, where oracle results are.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (argc == 3 && !strcmp(argv[1], "--check") &&
      (!strcmp(argv[2], "host") || !strcmp(argv[2], "cuda"))) {
    catchSignals();
    return check(strcmp(argv[2], "cuda") ? DeviceKind::Host : DeviceKind::Cuda);
  }
  if (argc > 1 && !strcmp(argv[1], "--check")) {
    fprintf(stderr, "fastk-worker: error: --check wants one of host and cuda: "
                    "whether programs for it can be judged here\n");
    return 1;
  }
  if (isSpoolCommand(argc, argv)) {
    std::string problem;
    std::optional<SpoolCommand> command =
        parseSpoolCommand({argv + 1, argv + argc}, problem);
    if (!command) {
      fprintf(stderr, "fastk-worker: error: %s\n", problem.c_str());
      return 1;
    }
    if (!command->gpus.empty())
      return runFleet(*command);
    catchSignals();
    return command->spool.serves ? serveSpool(command->spool)
                                 : answerSpool(command->spool);
  }
  if (argc > 1) {
    fprintf(stderr,
            "fastk-worker: error: unknown option '%s'; the job comes on stdin, "
            "see --help\n",
            argv[1]);
    return 1;
  }
  if (isatty(STDIN_FILENO))
    fprintf(stderr,
            "fastk-worker: reading a job from the terminal; see --help\n");

  catchSignals();

  std::string text, error;
  if (!readAll(text))
    return 1;
  std::optional<Job> job = parseJob(text, error);
  if (!job) {
    fprintf(stderr, "fastk-worker: error: stdin: %s\n", error.c_str());
    return 1;
  }
  std::string verdict = toJSON(evaluate(*job)) + "\n";
  fwrite(verdict.data(), 1, verdict.size(), stdout);
  return 0;
}

int fastk::workerMain(int argc, char **argv) {
  if (fastk::cuda::isNvrtcChild(argc, argv))
    _exit(fastk::cuda::nvrtcChildMain(argc, argv));
  int code = 0;
  if (childMain(argc, argv, code))
    _exit(code); // What runs at exit may need what the sandbox has closed.
  fastk::occupyClosedStreams();
  fastk::watchEndingSignals();
  if (!fastk::checkVectorLimit("fastk-worker"))
    return 1;
  code = run(argc, argv);
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return code;
  fprintf(stderr, "fastk-worker: error: cannot write standard output: %s\n",
          errno ? strerror(errno) : "some of it is lost");
  return 1;
}
