//===- Child.cpp - Talking with the process of a program ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Child.h"
#include "../Clock.h"
#include "../Phases.h"
#include "HostLoad.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace fastk::worker;

Child::~Child() {
  killAndReap();
  if (control)
    munmap(control, pageSize);
  if (socket >= 0)
    close(socket);
}

bool Child::send(Message &message, const std::vector<int> &fds,
                 Failure &failure) {
  struct iovec vector = {&message, sizeof(message)};
  alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int) * maxBuffers)] = {};
  struct msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = space;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(part), fds.data(), sizeof(int) * fds.size());
  }
  // A child that stopped reading would fill the socket: never wait for it.
  if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
      ssize_t(sizeof(message)))
    return true;
  explainDeath("between calls", failure);
  return false;
}

/// Bytes of memory of a process that are its own; buffers are shared.
static int64_t ownMemory(pid_t pid) {
  char path[64], text[256] = {};
  snprintf(path, sizeof(path), "/proc/%d/statm", int(pid));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t got = ::read(fd, text, sizeof(text) - 1);
  close(fd);
  long long size = 0, resident = 0, shared = 0;
  if (got <= 0 ||
      sscanf(text, "%lld %lld %lld", &size, &resident, &shared) != 3)
    return 0;
  return int64_t(resident - shared) * sysconf(_SC_PAGESIZE);
}

bool Child::waitFor(std::atomic<uint32_t> &word, uint32_t value, double seconds,
                    bool spin, const char *doing, Failure &failure) {
  if (spin) {
    uint64_t until = clockNs() + 200'000;
    do {
      for (int i = 0; i < 64; ++i) {
        if (word.load(std::memory_order_acquire) == value)
          return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    } while (clockNs() < until);
  }
  uint64_t deadline = clockNs() + uint64_t(seconds * 1e9);
  bool slept = false;
  for (;;) {
    uint32_t seen = word.load();
    if (seen == value)
      return true;
    if (hasEnded() && word.load() != value) {
      explainDeath(doing, failure);
      return false;
    }
    if (clockNs() > deadline) {
      char text[160];
      snprintf(text, sizeof(text),
               "the %s did not return within %.3g s %s; it was killed",
               name.c_str(), seconds, doing);
      failure = {Status::Timeout, text};
      killAndReap();
      return false;
    }
    // The limit on address space leaves room for libraries and stacks; this
    // one does not, and holds where that one cannot be set.
    int64_t taken = slept ? ownMemory(pid) : 0;
    slept = true;
    if (taken > options.memoryBytes) {
      char text[200];
      snprintf(text, sizeof(text),
               "the %s took %.3g GB %s; limits.memory_bytes allows %.3g GB",
               name.c_str(), double(taken) * 1e-9, doing,
               double(options.memoryBytes) * 1e-9);
      failure = {Status::Memory, text};
      killAndReap();
      return false;
    }
    struct timespec wait = {0, 10'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &wait, nullptr, 0);
  }
}

bool Child::map(uint32_t slot, const std::vector<const SharedBuffer *> &buffers,
                Failure &failure) {
  Message message = {};
  message.command = Command::Map;
  message.sequence = ++sequence;
  message.slot = slot;
  message.count = uint32_t(buffers.size());
  std::vector<int> fds;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const SharedBuffer &buffer = *buffers[i];
    BufferMessage &entry = message.buffers[i];
    entry.fileBytes = buffer.fileSize();
    entry.offset = buffer.fileOffset();
    entry.writable = buffer.isWritable();
    entry.null = buffer.size() == 0;
    if (!entry.null)
      fds.push_back(buffer.descriptor());
  }
  resume();
  return send(message, fds, failure) &&
         waitFor(control->mapped, message.sequence, 60, false,
                 "while mapping its buffers", failure) &&
         stop(failure);
}

/// What two control words differ in, for people.
static std::string changeOf(uint64_t before, uint64_t after) {
  uint64_t changed = before ^ after;
  std::string text;
  auto add = [&](uint64_t bits, const char *name) {
    if (changed & bits)
      text += (text.empty() ? "" : ", ") + std::string(name);
  };
#if defined(__x86_64__)
  add(0x8000, "flush to zero");
  add(0x0040, "denormals are zero");
  add(0x6000, "rounding");
  add(0x1f80, "traps");
  add(uint64_t(0xffff) << 32, "x87");
#else
  add(~uint64_t(0), "FPCR");
#endif
  return text;
}

bool Child::keepsControlWord(uint64_t word, const char *whose,
                             const char *harmed, Failure &failure) {
  // 0: it was never told; whoever took the process over says what it likes.
  if (word == 0 || word == controlWord())
    return true;
  failure = {Status::Wrong,
             "the " + name + " left the floating-point control word " + whose +
                 "changed (" + changeOf(controlWord(), word) + "): " + harmed +
                 " would compute differently from then on"};
  return false;
}

bool Child::unmap(uint32_t slot, Failure &failure) {
  Message message = {};
  message.command = Command::Unmap;
  message.sequence = ++sequence;
  message.slot = slot;
  resume();
  return send(message, {}, failure) &&
         waitFor(control->mapped, message.sequence, 60, false,
                 "while unmapping its buffers", failure) &&
         stop(failure) &&
         keepsControlWord(control->threadControlWord.load(),
                          "of a thread of OpenMP ",
                          "the next kernel on that thread", failure);
}

bool Child::call(uint32_t slot, double timeoutSeconds, CallTime &time,
                 Failure &failure, bool spin, ResultWatch *watch,
                 OperandTripwires *decoys) {
  Phase phase(name.c_str());
  Message message = {};
  message.command = Command::Call;
  message.sequence = ++sequence;
  message.slot = slot;
  message.threads = uint32_t(threads ? threads : options.threads);
  resume();
  if (!send(message, {}, failure) ||
      !waitFor(control->ready, message.sequence, 20, false, "before a call",
               failure))
    return false;
  if (watch)
    watch->beforeCall();
  // The program waits for its start meanwhile.
  RunDelays delays = runDelaysOf(pid);
  uint64_t ownDelay = ownRunDelay();
  if (decoys)
    decoys->reveal();
  uint64_t begin = clockNs();
  control->go.store(message.sequence);
  if (control->sleeping.load())
    syscall(SYS_futex, &control->go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (!waitFor(control->done, message.sequence, timeoutSeconds, spin,
               "during a call", failure))
    return false;
  uint64_t end = clockNs();
  time.ns = double(end - begin);
  time.otherNs = double(control->elapsedNs.load());
  uint64_t word = control->controlWord.load();
  if (watch)
    watch->atReturn();
  // Before the stop, which threads wait for as well. What is written meanwhile
  // is found.
  time.waitedNs = double(std::max(longestWait(delays, runDelaysOf(pid)),
                                  ownRunDelay() - ownDelay));
  if (!stop(failure))
    return false;
  if (watch)
    watch->whenStopped();
  return keepsControlWord(word, "", "who calls it", failure);
}

bool Child::linger(double seconds, Failure &failure) {
  resume();
  struct timespec wait = {0, long(seconds * 1e9)};
  nanosleep(&wait, nullptr);
  return stop(failure);
}

int Child::handledSignal() const {
  char path[64], text[4096] = {};
  snprintf(path, sizeof(path), "/proc/%d/status", int(pid));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t got = ::read(fd, text, sizeof(text) - 1);
  close(fd);
  const char *line = got > 0 ? std::strstr(text, "\nSigCgt:") : nullptr;
  if (!line)
    return 0;
  uint64_t caught = std::strtoull(line + 8, nullptr, 16);
  // The sandbox's own, and two that the C library keeps for threads.
  for (int own : {SIGSYS, 32, 33})
    caught &= ~(uint64_t(1) << (own - 1));
  return caught ? __builtin_ctzll(caught) + 1 : 0;
}

uint32_t Child::protections() const { return control->protections.load(); }

Resources Child::finish() {
  killAndReap();
  return used;
}
