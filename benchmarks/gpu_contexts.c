//===- gpu_contexts.c - How many CUDA contexts a host makes a second ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts processes that make a context, as a worker's programs have one, kills
// them and says how long each step took. Keep another process at the GPUs:
// without one the driver also wakes them, which takes a tenth of a second more.
//
//   cc -O1 gpu_contexts.c -o gpu_contexts -I$CUDA/include -lcuda
//   CUDA_DEVICE_MAX_CONNECTIONS=1 ./gpu_contexts AT_ONCE GPUS ROUNDS
//
//===----------------------------------------------------------------------===//

#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { Init, Context, Stream, Memory, Steps, Most = 64 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// Writes how long each step took to stdout, and waits to be killed.
static int makeContext(const char *gpu) {
  setenv("CUDA_VISIBLE_DEVICES", gpu, 1);
  double times[Steps + 1] = {seconds()};
  CUcontext context;
  CUstream stream;
  CUevent events[3];
  CUdeviceptr memory;
  if (cuInit(0) != CUDA_SUCCESS)
    return 1;
  times[1] = seconds();
#if CUDA_VERSION >= 13000
  if (cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN, 0) != CUDA_SUCCESS)
    return 1;
#else
  if (cuCtxCreate(&context, CU_CTX_SCHED_SPIN, 0) != CUDA_SUCCESS)
    return 1;
#endif
  times[2] = seconds();
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  for (int i = 0; i < 3; ++i)
    cuEventCreate(&events[i], CU_EVENT_DEFAULT);
  times[3] = seconds();
  cuMemAlloc(&memory, (size_t)256 << 20);
  times[4] = seconds();
  if (write(1, times, sizeof(times)) != (ssize_t)sizeof(times))
    return 1;
  return pause();
}

int main(int count, char **arguments) {
  if (count == 3)
    return makeContext(arguments[2]);
  int atOnce = count == 4 ? atoi(arguments[1]) : 0;
  if (atOnce < 1 || atOnce > Most)
    return fprintf(stderr, "usage: gpu_contexts AT_ONCE GPUS ROUNDS\n"), 1;
  int gpus = atoi(arguments[2]), rounds = atoi(arguments[3]);
  double sums[Steps] = {0}, ends = 0, start = seconds();
  for (int round = 0; round < rounds; ++round) {
    pid_t children[Most];
    int pipes[Most][2];
    for (int i = 0; i < atOnce; ++i) {
      if (pipe(pipes[i]) != 0)
        return perror("pipe"), 1;
      char gpu[12];
      snprintf(gpu, sizeof(gpu), "%d", i % gpus);
      if ((children[i] = fork()) == 0) {
        dup2(pipes[i][1], 1);
        execl("/proc/self/exe", "gpu_contexts", "child", gpu, (char *)NULL);
        _exit(1);
      }
      close(pipes[i][1]);
    }
    for (int i = 0; i < atOnce; ++i) {
      double times[Steps + 1];
      if (read(pipes[i][0], times, sizeof(times)) != (ssize_t)sizeof(times))
        return fprintf(stderr, "a process made no context\n"), 1;
      for (int step = 0; step < Steps; ++step)
        sums[step] += times[step + 1] - times[step];
      close(pipes[i][0]);
    }
    double killed = seconds();
    for (int i = 0; i < atOnce; ++i)
      kill(children[i], SIGKILL);
    for (int i = 0; i < atOnce; ++i)
      waitpid(children[i], NULL, 0);
    ends += seconds() - killed;
  }
  int made = atOnce * rounds;
  printf("| %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f |\n", atOnce,
         gpus, 1e3 * sums[Init] / made, 1e3 * sums[Context] / made,
         1e3 * sums[Stream] / made, 1e3 * sums[Memory] / made,
         1e3 * ends / rounds, made / (seconds() - start));
  return 0;
}
