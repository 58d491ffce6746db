//===- ChildMain.cpp - The process a program runs in ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"
#include "ThreadStacks.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace fastk;
using namespace fastk::worker;

namespace {

/// One tensor as the kernel sees it: pages of a file between two pages that
/// fault.
struct Mapping {
  char *base = nullptr;
  size_t bytes = 0;
  void *tensor = nullptr;
};

struct Slot {
  uint32_t count = 0;
  std::array<Mapping, maxBuffers> mappings;
};

using Kernel = void (*)();

/// What the program's OpenMP can be asked for; null where it uses none.
struct OpenMP {
  void (*setThreads)(int) = nullptr;
  /// Calls a function on so many threads: what a region of GNU's becomes, which
  /// LLVM's runtime has as well.
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;
  /// Of calls: now, and the most there have been.
  uint32_t threads = 0, mostThreads = 0;
};

} // namespace

static uint64_t nowNs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

static void futexWait(std::atomic<uint32_t> *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

static void futexWake(std::atomic<uint32_t> *word) {
  syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Receives one message and its descriptors. Returns whether one came.
static bool receive(Message &message, int (&fds)[maxBuffers],
                    uint32_t &fdCount) {
  struct iovec vector = {&message, sizeof(message)};
  alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int) * maxBuffers)];
  struct msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  ssize_t got;
  do
    got = recvmsg(childSocket, &header, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  fdCount = 0;
  if (got != ssize_t(sizeof(message)))
    return false;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part;
       part = CMSG_NXTHDR(&header, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
      fdCount = uint32_t((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(fds, CMSG_DATA(part), fdCount * sizeof(int));
    }
  return true;
}

/// A page-aligned address nobody can guess; only a hint to the kernel.
static void *randomAddress() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
    return nullptr;
  return reinterpret_cast<void *>(0x100000000000u +
                                  (bits & 0x7ffffff) * pageSize);
}

static bool mapBuffer(const BufferMessage &buffer, int fd, Mapping &mapping) {
  mapping = Mapping();
  size_t bytes = buffer.fileBytes + 2 * pageSize;
  void *base = mmap(randomAddress(), bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return false;
  mapping.base = static_cast<char *>(base);
  mapping.bytes = bytes;
  int protection = PROT_READ | (buffer.writable ? PROT_WRITE : 0);
  if (mmap(mapping.base + pageSize, buffer.fileBytes, protection,
           MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
    return false;
  mapping.tensor = mapping.base + pageSize + buffer.offset;
  return true;
}

static void unmapSlot(Slot &slot) {
  for (uint32_t i = 0; i < slot.count; ++i)
    if (slot.mappings[i].base)
      munmap(slot.mappings[i].base, slot.mappings[i].bytes);
  slot.count = 0;
}

static bool mapSlot(const Message &message, const int *fds, uint32_t fdCount,
                    Slot &slot) {
  unmapSlot(slot);
  uint32_t next = 0;
  bool ok = true;
  for (uint32_t i = 0; i < message.count && i < maxBuffers; ++i) {
    slot.mappings[i] = Mapping();
    slot.count = i + 1;
    if (message.buffers[i].null)
      continue;
    if (next >= fdCount)
      return false;
    ok &= mapBuffer(message.buffers[i], fds[next++], slot.mappings[i]);
  }
  for (uint32_t i = 0; i < fdCount; ++i)
    close(fds[i]);
  return ok;
}

//===----------------------------------------------------------------------===//
// Calling a function of an arity known only now
//===----------------------------------------------------------------------===//

template <size_t>
using Pointer = void *;

template <size_t... I>
static void callWith(Kernel kernel, const Slot &slot,
                     std::index_sequence<I...>) {
  reinterpret_cast<void (*)(Pointer<I>...)>(kernel)(slot.mappings[I].tensor...);
}

template <size_t N>
static void callArity(Kernel kernel, const Slot &slot) {
  callWith(kernel, slot, std::make_index_sequence<N>());
}

template <size_t... N>
static void callKernel(Kernel kernel, const Slot &slot,
                       std::index_sequence<N...>) {
  using Caller = void (*)(Kernel, const Slot &);
  static constexpr Caller callers[] = {callArity<N>...};
  callers[slot.count](kernel, slot);
}

/// What the cost of a call is measured with.
static void emptyKernel() {}

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

static Kernel load(const Message &start, ControlPage *control, int program,
                   OpenMP &openMP) {
  if (!start.hasProgram)
    return emptyKernel;
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    strncpy(control->text, why ? why : "dlopen failed",
            sizeof(control->text) - 1);
    return nullptr;
  }
  void *symbol = dlsym(library, "fastk_kernel");
  if (!symbol) {
    strncpy(control->text, "it does not export 'fastk_kernel'",
            sizeof(control->text) - 1);
    return nullptr;
  }
  // OpenMP looks at the machine when first used: let it look now, while it
  // still may.
  if (void *query = dlsym(library, "omp_get_num_places"))
    reinterpret_cast<int (*)()>(query)();
  openMP.setThreads = reinterpret_cast<decltype(OpenMP::setThreads)>(
      dlsym(library, "omp_set_num_threads"));
  openMP.parallel = reinterpret_cast<decltype(OpenMP::parallel)>(
      dlsym(library, "GOMP_parallel"));
  close(program);
  return reinterpret_cast<Kernel>(symbol);
}

uint64_t fastk::worker::controlWord() {
#if defined(__x86_64__)
  constexpr uint32_t flags = 0x3f;
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (__builtin_ia32_stmxcsr() & ~flags) | uint64_t(x87) << 32;
#elif defined(__aarch64__)
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
#else
  return 0;
#endif
}

/// Looks for a thread that computes otherwise than this one did at first.
/// LLVM's runtime gives every region the control word of its caller, unless it
/// was told not to; GNU's never does, and then the next kernel would be off.
static void checkThreads(const OpenMP &openMP, ControlPage *control,
                         uint64_t arithmetic) {
  if (!openMP.parallel || openMP.mostThreads < 2)
    return;
  struct Look {
    ControlPage *control;
    uint64_t arithmetic;
  } look = {control, arithmetic};
  openMP.parallel(
      [](void *each) {
        auto *look = static_cast<Look *>(each);
        if (uint64_t word = controlWord(); word != look->arithmetic)
          look->control->threadControlWord.store(word);
      },
      &look, openMP.mostThreads, 0);
}

static void serveCall(ControlPage *control, const Message &message,
                      Kernel kernel, const Slot &slot) {
  uint32_t sequence = message.sequence;
  control->ready.store(sequence);
  futexWake(&control->ready);
  // Spin a little: waking up costs more than a small kernel takes.
  for (int i = 0; i < 20000; ++i) {
    if (control->go.load(std::memory_order_acquire) == sequence)
      break;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (control->go.load() != sequence) {
    control->sleeping.store(1);
    uint32_t seen = control->go.load();
    if (seen != sequence)
      futexWait(&control->go, seen);
    control->sleeping.store(0);
  }
  uint64_t begin = nowNs();
  callKernel(kernel, slot, std::make_index_sequence<maxBuffers + 1>());
  uint64_t end = nowNs();
  control->elapsedNs.store(end - begin, std::memory_order_relaxed);
  control->controlWord.store(controlWord(), std::memory_order_relaxed);
  control->done.store(sequence);
  futexWake(&control->done);
}

int fastk::worker::runChild() {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // No program may look into the process of another, of the same user or not.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  Message start;
  int fds[maxBuffers];
  uint32_t fdCount = 0;
  if (!receive(start, fds, fdCount) || start.command != Command::Start ||
      fdCount != 1 + start.hasProgram)
    return 2;
  auto *control = static_cast<ControlPage *>(
      mmap(nullptr, pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0));
  if (control == MAP_FAILED)
    return 2;
  close(fds[0]);
  if (chdir("/") != 0)
    return 2;
  control->stage = StageLoading;
  control->protections = sandbox::enterSandbox(start.limits, &control->denied);
  uint64_t arithmetic = controlWord();
  guardThreadStacks();
  OpenMP openMP;
  Kernel kernel = load(start, control, fds[1], openMP);
  if (kernel && controlWord() != arithmetic) {
    strncpy(control->text,
            "it changes the floating-point control word (rounding, flush to "
            "zero) of who loads it",
            sizeof(control->text) - 1);
    kernel = nullptr;
  }
  if (!kernel) {
    control->stage = StageLoadFailed;
    futexWake(&control->stage);
    return 3;
  }
  // Where the first filter holds the second does, unless the program has put
  // one of its own on a thread.
  if (!sandbox::lockSandbox(start.limits) &&
      (control->protections & sandbox::ProtectSeccomp)) {
    strncpy(control->text, "what it started while loading cannot be confined",
            sizeof(control->text) - 1);
    control->stage = StageLoadFailed;
    futexWake(&control->stage);
    return 3;
  }
  control->stage = StageIdle;
  futexWake(&control->stage);

  static std::array<Slot, maxSlots> slots;
  Message message;
  while (receive(message, fds, fdCount)) {
    Slot &slot = slots[message.slot % maxSlots];
    switch (message.command) {
    case Command::Start:
      return 2;
    case Command::Map:
      if (!mapSlot(message, fds, fdCount, slot))
        return 4;
      break;
    case Command::Unmap:
      checkThreads(openMP, control, arithmetic);
      unmapSlot(slot);
      break;
    case Command::Call:
      if (openMP.setThreads && message.threads != openMP.threads)
        openMP.setThreads(int(openMP.threads = message.threads));
      openMP.mostThreads = std::max(openMP.mostThreads, openMP.threads);
      serveCall(control, message, kernel, slot);
      continue;
    }
    control->mapped.store(message.sequence);
    futexWake(&control->mapped);
  }
  // The worker has gone, or closed the socket: an orderly end.
  _exit(0);
}
