// Ways to look right or fast without doing the work, on the matrix product of
// matmul.c. ATTACK names one; every one of them must be rejected, each for its
// own reason. HONEST is the twin that does nothing wrong.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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
#define CLOCK_FROZEN 44
#define CLOCK_AHEAD 45
#define CLOCK_INTERPOSED 46
#define CLOCK_SET 47
#define CLOCK_VDSO 48
#define LATE_HALF 49
#define HELPED 50 // the honest twin of LATE_HALF
#define EARLY_THREAD 51
#define TIMED_ONLY 52
#define PROC_MEMORY 53
#define REMOTE_READ 54
#define PIDFD 55
#define SHARED_MEMORY 56
#define DESCRIPTOR_SCAN 57
#define CONSTRUCTOR_LOOKS 58
#define EARLY_WRITE 59
#define CLOCK_OFTEN_FROZEN 60

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

static void delay(long ns) {
  struct timespec wait = {0, ns};
  nanosleep(&wait, 0);
}

// What it was called with more than once.
static struct {
  const float *a, *b;
  volatile float *c;
} seen[64];
static volatile int seenCount;

#if ATTACK == CLOCK_FROZEN || ATTACK == CLOCK_AHEAD ||                        \
    ATTACK == CLOCK_OFTEN_FROZEN || ATTACK == EARLY_WRITE
// Functions of the process the kernel runs in: its table of them is changed so
// that reading the clock, or the worker's messages, ends up here.
#if ATTACK == EARLY_WRITE
static const char patched[] = "recvmsg";
static ssize_t instead(int fd, struct msghdr *header, int flags) {
  enum { Call = 3 };
  ssize_t got = recvmsg(fd, header, flags);
  if (got > 0 && *(const uint32_t *)header->msg_iov[0].iov_base == Call)
    for (int i = 0; i < seenCount; ++i)
      if (seen[i].c[0] != seen[i].c[0])
        memset((float *)seen[i].c, 0, M * N * 4);
  return got;
}
#else
static const char patched[] = "clock_gettime";
static int instead(clockid_t clock, struct timespec *now) {
  static long seconds, reads;
  // Two reads a call: three calls of five are held back.
  if (ATTACK == CLOCK_OFTEN_FROZEN && reads++ / 2 % 5 > 2)
    return syscall(SYS_clock_gettime, clock, now);
  now->tv_sec = ATTACK == CLOCK_AHEAD ? ++seconds : 1;
  now->tv_nsec = 0;
  return 0;
}
#endif

static int patch(struct dl_phdr_info *info, size_t size, void *data) {
  const ElfW(Dyn) *dynamic = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  uintptr_t at[64] = {0};
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag < 64)
      at[dynamic->d_tag] = dynamic->d_un.d_val;
  const ElfW(Sym) *symbols = (void *)at[DT_SYMTAB];
  const char *names = (void *)at[DT_STRTAB];
  for (int table = 0; table < 2; ++table) {
    const ElfW(Rela) *entry = (void *)at[table ? DT_JMPREL : DT_RELA];
    size_t count = at[table ? DT_PLTRELSZ : DT_RELASZ] / sizeof(*entry);
    for (size_t k = 0; k < count; ++k) {
      if (strcmp(names + symbols[ELF64_R_SYM(entry[k].r_info)].st_name,
                 patched))
        continue;
      void **slot = (void *)(info->dlpi_addr + entry[k].r_offset);
      mprotect((void *)((uintptr_t)slot & ~(uintptr_t)4095), 4096,
               PROT_READ | PROT_WRITE);
      *slot = (void *)instead;
      ++*(int *)data;
    }
  }
  return 1; // The first object is the program itself.
}

__attribute__((constructor)) static void tamper(void) {
  int found = 0;
  dl_iterate_phdr(patch, &found);
  if (!found)
    abort();
}
#endif

#if ATTACK == CLOCK_INTERPOSED
// As a preloaded library would: the same name, in the hope of being found
// first.
int clock_gettime(clockid_t clock, struct timespec *now) {
  now->tv_sec = now->tv_nsec = 0;
  return 0;
}
#endif

// Another thread works for the kernel; the second half approaches its values
// slowly, over a tenth of a second.
static volatile int wanted, rowsDone;
static void *helper(void *x) {
  static float values[M * N];
  for (;;) {
    while (!wanted)
      ;
    product(lateA, lateB, values);
    memcpy(lateC, values, M / 2 * N * 4);
    __atomic_store_n(&rowsDone, M / 2, __ATOMIC_RELEASE);
    const int steps = ATTACK == HELPED ? 1 : 200000;
    for (int step = 1; step <= steps; ++step)
      for (int i = M / 2 * N; i < M * N; ++i)
        ((volatile float *)lateC)[i] = values[i] * step / steps;
    __atomic_store_n(&rowsDone, M, __ATOMIC_RELEASE);
    wanted = 0;
  }
  return x;
}

// Works out the results again when they are gone, before it is called.
static void *eager(void *x) {
  for (;;)
    for (int i = 0; i < seenCount; ++i)
      if (seen[i].c[0] != seen[i].c[0])
        product(seen[i].a, seen[i].b, (float *)seen[i].c);
  return x;
}

static void ignore(int signal) { (void)signal; }

#if ATTACK == CONSTRUCTOR
__attribute__((constructor)) static void early(void) {
  socket(AF_INET, SOCK_STREAM, 0);
}
#endif

#if ATTACK == CONSTRUCTOR_LOOKS
// While files can still be opened: the memory of the worker, of the oracle and
// of whoever else is near. Finding anything ends the process with code 7.
__attribute__((constructor)) static void look(void) {
  for (int pid = getppid() - 4; pid < getppid() + 40; ++pid) {
    if (pid == getpid())
      continue;
    const char *names[] = {"mem", "maps", "fd/4", "fd/5", "fd/6", "environ"};
    for (int i = 0; i < 6; ++i) {
      char path[64];
      snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
      if (open(path, O_RDONLY) >= 0)
        _exit(7);
    }
  }
}
#endif

void fastk_kernel(const float *a, const float *b, float *c, void *workspace) {
  ++calls;
  (void)idle;
  (void)late;
  (void)ignore;
  (void)delay;
  (void)helper;
  (void)eager;
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
  mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
       -1, 0);
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
#elif ATTACK == CLOCK_FROZEN || ATTACK == CLOCK_AHEAD ||                      \
    ATTACK == CLOCK_OFTEN_FROZEN
  delay(5000000);
  product(a, b, c);
#elif ATTACK == CLOCK_INTERPOSED
  delay(20000000);
  product(a, b, c);
#elif ATTACK == CLOCK_SET
  product(a, b, c);
  struct timespec past = {1, 0};
  clock_settime(CLOCK_REALTIME, &past);
#elif ATTACK == CLOCK_VDSO
  product(a, b, c);
  mprotect((void *)getauxval(AT_SYSINFO_EHDR), 4096,
           PROT_READ | PROT_WRITE | PROT_EXEC);
#elif ATTACK == LATE_HALF || ATTACK == HELPED
  static pthread_t thread;
  lateA = a;
  lateB = b;
  lateC = c;
  rowsDone = 0;
  if (!thread)
    pthread_create(&thread, 0, helper, 0);
  wanted = 1;
  while (__atomic_load_n(&rowsDone, __ATOMIC_ACQUIRE) <
         (ATTACK == HELPED ? M : M / 2))
    ;
  while (ATTACK == HELPED && wanted)
    ;
#elif ATTACK == EARLY_THREAD || ATTACK == EARLY_WRITE
  static pthread_t thread;
  static const float *before[4096];
  if (ATTACK == EARLY_WRITE || c[0] != c[0])
    product(a, b, c);
  // Only where buffers come back: what is unmapped must not be looked at.
  int times = 0;
  for (int i = 0; i + 1 < calls && i < 4096; ++i)
    times += before[i] == c;
  before[(calls - 1) % 4096] = c;
  if (times == 1 && seenCount < 64) {
    seen[seenCount].a = a;
    seen[seenCount].b = b;
    seen[seenCount].c = c;
    ++seenCount;
  }
  if (ATTACK == EARLY_THREAD && !thread)
    pthread_create(&thread, 0, eager, 0);
#elif ATTACK == TIMED_ONLY
  // Being called on addresses it knows, it takes itself for timed; the rest it
  // leaves undone.
  static const float *known[4096];
  for (int i = 0; i + 1 < calls && i < 4096; ++i)
    if (known[i] == a) {
      product(a, b, c);
      return;
    }
  known[(calls - 1) % 4096] = a;
#elif ATTACK == PROC_MEMORY
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
  int memory = open(path, O_RDONLY);
  if (memory >= 0)
    pread(memory, c, M * N * 4, (off_t)(uintptr_t)c);
#elif ATTACK == REMOTE_READ
  struct {
    void *base;
    size_t bytes;
  } mine = {c, M * N * 4}, theirs = {c, M * N * 4};
  syscall(SYS_process_vm_readv, getppid(), &mine, 1, &theirs, 1, 0);
#elif ATTACK == PIDFD
  int worker = syscall(434, getppid(), 0);
  syscall(438, worker, 5, 0);
#elif ATTACK == SHARED_MEMORY
  syscall(SYS_shmget, 1, 4096, 0600);
#elif ATTACK == DESCRIPTOR_SCAN
  // Memory files of others that were left open: theirs may be the oracle's.
  for (int fd = 0; fd < 256; ++fd) {
    void *other = mmap(0, M * N * 8, PROT_READ, MAP_SHARED, fd, 0);
    if (other != MAP_FAILED)
      for (int i = 0; i < M * N; ++i)
        c[i] = ((double *)other)[i];
  }
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
