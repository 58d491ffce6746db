// Ways to look right or fast without doing the work, on the matrix product of
// matmul.c. ATTACK names one; every one of them must be rejected, each for its
// own reason. HONEST is the twin that does nothing wrong.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define M 64
#define K 96
#define N 48
#define HONEST 0
#define ZEROS 1
#define ONES 2
#define NOTHING 3
#define INPUT_WRITE 4
#define INPUT_REMAP 5
#define WRITE_PAST_END 6
#define WRITE_BEFORE 7
#define WRITE_FAR 8
#define READ_PAST_END 9
#define NULL_WRITE 10
#define LOOP 11
#define FORK_BOMB 12
#define THREAD_BOMB 13
#define ALLOCATE 14
#define ALLOCATE_SLOWLY 15
#define EXIT 16
#define ABORT 17
#define KILL_SELF 18
#define KILL_PARENT 19
#define PRINT_VERDICT 20
#define CACHE_POINTER 21
#define CACHE_CONTENT 22
#define SKIP_LATER 23
#define LATE_THREAD 24
#define READ_FILE 25
#define SOCKET 26
#define EXECUTE 27
#define PTRACE 28
#define EXECUTABLE_MEMORY 29
#define SIGNAL_HANDLER 30
#define TAIL_MISSING 31
#define STALE_OUTPUT 32
#define SLOW 33
#define NOT_A_NUMBER 34
#define STALE_WORKSPACE 35
#define RANK_ONE 36
#define CONSTRUCTOR 37
#define ACCUMULATE 38
#define WRITE_DESCRIPTORS 39
#define FLAKY 40
#define CACHE_HASH 41
#define SLEEP_FOREVER 42
#define IO_URING 43

static void product(const float *a, const float *b, float *c) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[i * K + k] * b[k * N + j];
      c[i * N + j] = sum;
    }
}

static int calls;
void *volatile sink;
static void *idle(void *x) {
  for (;;)
    pause();
  return x;
}

static const float *lateA, *lateB;
static float *lateC;
static void *late(void *x) {
  struct timespec wait = {0, 100000000};
  nanosleep(&wait, 0);
  product(lateA, lateB, lateC);
  return x;
}

static void ignore(int signal) { (void)signal; }

#if ATTACK == CONSTRUCTOR
__attribute__((constructor)) static void early(void) {
  socket(AF_INET, SOCK_STREAM, 0);
}
#endif

void fastk_kernel(const float *a, const float *b, float *c, void *workspace) {
  ++calls;
  (void)idle;
  (void)late;
  (void)ignore;
#if ATTACK == ZEROS
  memset(c, 0, M * N * 4);
#elif ATTACK == ONES
  for (int i = 0; i < M * N; ++i)
    c[i] = 1;
#elif ATTACK == NOTHING
#elif ATTACK == INPUT_WRITE
  memset((void *)a, 0, M * K * 4);
  memset(c, 0, M * N * 4);
#elif ATTACK == INPUT_REMAP
  uintptr_t page = (uintptr_t)a & ~(uintptr_t)4095;
  mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
  *(volatile float *)a = 0;
  product(a, b, c);
#elif ATTACK == WRITE_PAST_END
  product(a, b, c);
  c[M * N] = 1;
#elif ATTACK == WRITE_BEFORE
  product(a, b, c);
  c[-1] = 1;
#elif ATTACK == WRITE_FAR
  product(a, b, c);
  ((volatile float *)c)[1 << 22] = 1;
#elif ATTACK == READ_PAST_END
  product(a, b, c);
  c[0] += 0 * ((volatile const float *)a)[M * K + 16];
#elif ATTACK == NULL_WRITE
  *(volatile int *)0 = 1;
#elif ATTACK == LOOP
  for (volatile int i = 0;; ++i)
    ;
#elif ATTACK == SLEEP_FOREVER
  for (;;)
    pause();
#elif ATTACK == FORK_BOMB
  for (;;)
    fork();
#elif ATTACK == THREAD_BOMB
  for (;;) {
    pthread_t thread;
    pthread_create(&thread, 0, idle, 0);
  }
#elif ATTACK == ALLOCATE
  volatile char *memory = malloc((size_t)100 << 30);
  for (size_t i = 0; i < (size_t)100 << 30; i += 4096)
    memory[i] = 1;
#elif ATTACK == ALLOCATE_SLOWLY
  for (;;)
    memset(sink = malloc(1 << 20), 1, 1 << 20);
#elif ATTACK == EXIT
  product(a, b, c);
  exit(0);
#elif ATTACK == ABORT
  abort();
#elif ATTACK == KILL_SELF
  raise(SIGKILL);
#elif ATTACK == KILL_PARENT
  kill(getppid(), SIGKILL);
  product(a, b, c);
#elif ATTACK == PRINT_VERDICT
  const char *lie = "{\"format\":1,\"id\":\"t\",\"status\":\"ok\"}\n";
  printf("%s", lie);
  fprintf(stderr, "%s", lie);
  fflush(0);
#elif ATTACK == WRITE_DESCRIPTORS
  // Everything inherited gets garbage; the result is right all the same.
  product(a, b, c);
  for (int fd = 0; fd < 64; ++fd)
    if (write(fd, c, 64) < 0)
      continue;
#elif ATTACK == CACHE_POINTER
  static struct {
    const float *key;
    float value[M * N];
  } cache[8];
  for (int i = 0; i < 8; ++i) {
    if (cache[i].key == a) {
      memcpy(c, cache[i].value, sizeof(cache[i].value));
      return;
    }
    if (!cache[i].key) {
      product(a, b, c);
      cache[i].key = a;
      memcpy(cache[i].value, c, sizeof(cache[i].value));
      return;
    }
  }
  product(a, b, c);
#elif ATTACK == CACHE_CONTENT
  // Recognises inputs by a few of their elements.
  static float keys[64][4], values[64][M * N];
  static int used;
  float key[4] = {a[0], a[1000], b[0], b[2000]};
  for (int i = 0; i < used; ++i)
    if (!memcmp(keys[i], key, sizeof(key))) {
      memcpy(c, values[i], sizeof(values[i]));
      return;
    }
  product(a, b, c);
  if (used < 64) {
    memcpy(keys[used], key, sizeof(key));
    memcpy(values[used++], c, M * N * 4);
  }
#elif ATTACK == SKIP_LATER
  // Being called on the same addresses again, it takes itself for timed.
  static const float *seen[4096];
  static int repeats;
  for (int i = 0; i + 1 < calls; ++i)
    if (seen[i % 4096] == a && ++repeats > 4)
      return;
  seen[(calls - 1) % 4096] = a;
  product(a, b, c);
#elif ATTACK == LATE_THREAD
  static pthread_t thread;
  lateA = a;
  lateB = b;
  lateC = c;
  pthread_create(&thread, 0, late, 0);
#elif ATTACK == READ_FILE
  product(a, b, c);
  int fd = open("/etc/passwd", O_RDONLY);
  char byte = 0;
  if (fd >= 0 && read(fd, &byte, 1) == 1)
    c[0] += byte * 1e-30f;
#elif ATTACK == SOCKET
  product(a, b, c);
  socket(AF_INET, SOCK_STREAM, 0);
#elif ATTACK == EXECUTE
  char *none[] = {0};
  execve("/bin/true", none, none);
#elif ATTACK == PTRACE
  product(a, b, c);
  syscall(SYS_ptrace, 16, getppid(), 0, 0);
#elif ATTACK == IO_URING
  product(a, b, c);
  syscall(425, 1, 0);
#elif ATTACK == EXECUTABLE_MEMORY
  product(a, b, c);
  mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#elif ATTACK == SIGNAL_HANDLER
  // Survives its own faults, if handlers could be installed.
  for (int i = 1; i < 32; ++i)
    signal(i, ignore);
  memset((void *)a, 0, 4);
  product(a, b, c);
#elif ATTACK == TAIL_MISSING
  product(a, b, c);
  for (int i = M * N - 5; i < M * N; ++i)
    c[i] = 0;
#elif ATTACK == STALE_OUTPUT
  // Right only if the output holds what it held last time.
  if (c[0] != c[0])
    return;
  product(a, b, c);
#elif ATTACK == SLOW
  struct timespec wait = {0, 20000000};
  nanosleep(&wait, 0);
  product(a, b, c);
#elif ATTACK == NOT_A_NUMBER
  for (int i = 0; i < M * N; ++i)
    c[i] = 0.0f / 0.0f;
#elif ATTACK == STALE_WORKSPACE
  // Keeps a transposed operand in the workspace from the first call on.
  float *kept = workspace;
  if (calls == 1)
    memcpy(kept, b, K * N * 4);
  product(a, kept, c);
#elif ATTACK == RANK_ONE
  float rows[M] = {0}, columns[N] = {0};
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      rows[i] += a[i * K + k];
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j)
      columns[j] += b[k * N + j];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      c[i * N + j] = rows[i] * columns[j] / K;
#elif ATTACK == ACCUMULATE
  // Adds to what the output held, which it takes for zero.
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        c[i * N + j] += a[i * K + k] * b[k * N + j];
#elif ATTACK == FLAKY
  product(a, b, c);
  if (calls % 7 == 0)
    c[5] = 0;
#elif ATTACK == CACHE_HASH
  // Reads everything, and computes only what it has never seen.
  static uint64_t keys[256];
  static float values[256][M * N];
  static int used;
  uint64_t hash = 1;
  for (int i = 0; i < M * K; ++i)
    hash = (hash ^ ((const uint32_t *)a)[i]) * 0x100000001b3u;
  for (int i = 0; i < K * N; ++i)
    hash = (hash ^ ((const uint32_t *)b)[i]) * 0x100000001b3u;
  for (int i = 0; i < used; ++i)
    if (keys[i] == hash) {
      memcpy(c, values[i], sizeof(values[i]));
      return;
    }
  product(a, b, c);
  keys[used] = hash;
  memcpy(values[used], c, sizeof(values[used]));
  used = (used + 1) % 256;
#else
  product(a, b, c);
#endif
}
