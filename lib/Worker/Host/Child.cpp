//===- Child.cpp - A program in a process of its own ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Child.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <seccomp.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace fastk::worker;

uint64_t fastk::worker::clockNs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

//===----------------------------------------------------------------------===//
// Children to kill when the worker is
//===----------------------------------------------------------------------===//

static std::array<std::atomic<pid_t>, 16> children;

static void remember(pid_t pid) {
  for (std::atomic<pid_t> &entry : children) {
    pid_t free = 0;
    if (entry.compare_exchange_strong(free, pid))
      return;
  }
}

static void forget(pid_t pid) {
  for (std::atomic<pid_t> &entry : children) {
    pid_t expected = pid;
    entry.compare_exchange_strong(expected, 0);
  }
}

void fastk::worker::killAllChildren() {
  for (std::atomic<pid_t> &entry : children)
    if (pid_t pid = entry.load())
      kill(-pid, SIGKILL);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ProgramImage::ProgramImage(ProgramImage &&other) noexcept {
  *this = std::move(other);
}

ProgramImage &ProgramImage::operator=(ProgramImage &&other) noexcept {
  std::swap(fd, other.fd);
  std::swap(digest, other.digest);
  return *this;
}

ProgramImage::~ProgramImage() {
  if (fd >= 0)
    close(fd);
}

bool ProgramImage::read(const std::string &path, std::string &error) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    if (file >= 0)
      close(file);
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    error = path + " is not a file; name a shared object";
    close(file);
    return false;
  }
  fd = memfd_create("fastk-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  digest = 0xcbf29ce484222325u;
  char chunk[65536];
  ssize_t got = 0;
  bool ok = fd >= 0;
  while (ok && (got = ::read(file, chunk, sizeof(chunk))) > 0) {
    for (ssize_t i = 0; i < got; ++i)
      digest = (digest ^ static_cast<unsigned char>(chunk[i])) * 0x100000001b3u;
    ok = write(fd, chunk, size_t(got)) == got;
  }
  close(file);
  if (!ok || got < 0) {
    error = "cannot copy " + path + ": " + std::strerror(errno);
    return false;
  }
  fcntl(fd, F_ADD_SEALS,
        F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return true;
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// Nothing of the user's environment but where libraries are; OpenMP as every
/// program of a job must see it.
static std::vector<std::string> environment(const ChildOptions &options) {
  std::vector<std::string> variables = {
      "PATH=", "LANG=C", "MALLOC_ARENA_MAX=2",
      "OMP_NUM_THREADS=" + std::to_string(options.threads),
      "OMP_THREAD_LIMIT=" + std::to_string(options.threads),
      "OMP_DYNAMIC=FALSE",
      (options.threads > 1 ? "OMP_PROC_BIND=TRUE" : "OMP_PROC_BIND=FALSE"),
      "OMP_PLACES=threads", "OMP_MAX_ACTIVE_LEVELS=1",
      // Workers of OpenMP spin between calls, as in a model that runs one
      // kernel after another: waking them would cost more than a small kernel
      // and land them on any processor. They burn nothing: a program that is
      // not being called is stopped.
      "KMP_BLOCKTIME=infinite", "KMP_WARNINGS=FALSE"};
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  // What the sanitizer's own handlers and checks do, the sandbox forbids.
  variables.push_back("ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:"
                      "handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
                      "use_sigaltstack=0:detect_leaks=0:"
                      "allocator_may_return_null=1");
#endif
#endif
  if (const char *paths = getenv("LD_LIBRARY_PATH"))
    variables.push_back(std::string("LD_LIBRARY_PATH=") + paths);
  return variables;
}

/// A user that no other process runs as, so that limits per user bind to this
/// child alone. Only root can choose.
static uint32_t ownUser() {
  static uint32_t counter = 0;
  if (geteuid() != 0)
    return 0;
  return 1000000000u + uint32_t(getpid()) % 4194304u * 64 + counter++ % 64;
}

std::unique_ptr<Child> Child::start(std::string name, const ProgramImage *image,
                                    const ChildOptions &options,
                                    Failure &failure) {
  auto fail = [&](const char *doing) {
    failure = {Status::Error, std::string("cannot start a process for the ") +
                                  name + ": " + doing + ": " +
                                  std::strerror(errno)};
    return nullptr;
  };
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail("socketpair");
  std::unique_ptr<Child> child(new Child());
  child->name = name;
  child->options = options;
  child->socket = pair[0];
  int page = memfd_create("fastk-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (page < 0 || ftruncate(page, pageSize) != 0) {
    close(pair[1]);
    return fail("memfd_create");
  }
  fcntl(page, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void *mapped =
      mmap(nullptr, pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (mapped == MAP_FAILED) {
    close(pair[1]);
    close(page);
    return fail("mmap");
  }
  child->control = static_cast<ControlPage *>(mapped);

  std::vector<std::string> variables = environment(options);
  std::vector<char *> pointers;
  pointers.reserve(variables.size() + 1);
  for (std::string &variable : variables)
    pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  char self[] = "fastk-worker";
  std::string flag = childFlag;
  char *arguments[] = {self, flag.data(), nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], childSocket);
  for (int fd = 0; fd <= 2; ++fd)
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
                                     fd == 0 ? O_RDONLY : O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, childSocket + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  int code = posix_spawn(&child->pid, "/proc/self/exe", &actions, &attributes,
                         arguments, pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pair[1]);
  if (code != 0) {
    close(page);
    errno = code;
    child->pid = -1;
    return fail("posix_spawn");
  }
  remember(child->pid);

  Message message = {};
  message.command = Command::Start;
  message.hasProgram = image != nullptr;
  message.threadLimit = uint32_t(options.threadLimit);
  // Beside the program's own memory: buffers, libraries, stacks of threads.
  message.addressSpaceBytes =
      uint64_t(options.memoryBytes) + uint64_t(options.bufferBytes) +
      (uint64_t(512) << 20) + uint64_t(options.threadLimit) * (9u << 20);
  message.largestMapping =
      uint64_t(options.memoryBytes) + uint64_t(options.bufferBytes);
  message.fileBytes = uint64_t(options.fileBytes);
  message.cpuSeconds = uint64_t(options.cpuSeconds) + 1;
  message.uid = ownUser();
  std::vector<int> fds = {page};
  if (image)
    fds.push_back(image->descriptor());
  bool sent = child->send(message, fds, failure);
  close(page);
  if (!sent)
    return nullptr;

  // Loading runs constructors, so it is watched as a call is.
  uint64_t deadline = clockNs() + 20'000'000'000u;
  for (;;) {
    uint32_t stage = child->control->stage.load();
    if (stage == StageIdle)
      return child;
    if (stage == StageLoadFailed || stage == StageSetupFailed) {
      std::string why(
          child->control->text,
          strnlen(child->control->text, sizeof(child->control->text)));
      for (char &c : why)
        if (static_cast<unsigned char>(c) < 32 ||
            static_cast<unsigned char>(c) > 126)
          c = '?';
      failure = {Status::Refused, "the " + name + " cannot be loaded: " + why};
      return nullptr;
    }
    if (clockNs() > deadline) {
      failure = {Status::Timeout, "the " + name + " did not load within 20 s"};
      return nullptr;
    }
    if (child->hasEnded() && child->control->stage.load() != StageLoadFailed) {
      child->explainDeath("loading", failure);
      return nullptr;
    }
    struct timespec wait = {0, 5'000'000};
    syscall(SYS_futex, &child->control->stage, FUTEX_WAIT, stage, &wait,
            nullptr, 0);
  }
}

Child::~Child() {
  killAndReap();
  if (control)
    munmap(control, pageSize);
  if (socket >= 0)
    close(socket);
}

//===----------------------------------------------------------------------===//
// Talking
//===----------------------------------------------------------------------===//

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

bool Child::hasEnded() {
  if (reaped)
    return true;
  siginfo_t info = {};
  return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
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

bool Child::unmap(uint32_t slot, Failure &failure) {
  Message message = {};
  message.command = Command::Unmap;
  message.sequence = ++sequence;
  message.slot = slot;
  resume();
  return send(message, {}, failure) &&
         waitFor(control->mapped, message.sequence, 60, false,
                 "while unmapping its buffers", failure) &&
         stop(failure);
}

bool Child::call(uint32_t slot, double timeoutSeconds, CallTime &time,
                 Failure &failure, bool spin) {
  Message message = {};
  message.command = Command::Call;
  message.sequence = ++sequence;
  message.slot = slot;
  resume();
  if (!send(message, {}, failure) ||
      !waitFor(control->ready, message.sequence, 20, false, "before a call",
               failure))
    return false;
  uint64_t begin = clockNs();
  control->go.store(message.sequence);
  if (control->sleeping.load())
    syscall(SYS_futex, &control->go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (!waitFor(control->done, message.sequence, timeoutSeconds, spin,
               "during a call", failure))
    return false;
  uint64_t end = clockNs();
  time.ns = double(end - begin);
  time.childNs = double(control->elapsedNs.load());
  return stop(failure);
}

//===----------------------------------------------------------------------===//
// Stopping and dying
//===----------------------------------------------------------------------===//

void Child::resume() {
  if (!stopped || reaped)
    return;
  kill(pid, SIGCONT);
  stopped = false;
}

bool Child::stop(Failure &failure) {
  if (kill(pid, SIGSTOP) != 0) {
    explainDeath("after a call", failure);
    return false;
  }
  siginfo_t info = {};
  int code;
  do
    code = waitid(P_PID, id_t(pid), &info, WSTOPPED | WEXITED | WNOWAIT);
  while (code != 0 && errno == EINTR);
  if (code != 0 || info.si_code != CLD_STOPPED) {
    explainDeath("after a call", failure);
    return false;
  }
  // Collect the stop; the exit, if it ever comes, is collected elsewhere.
  waitid(P_PID, id_t(pid), &info, WSTOPPED | WNOHANG);
  stopped = true;
  return true;
}

void Child::killAndReap() {
  if (pid <= 0 || reaped)
    return;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  struct rusage usage = {};
  pid_t got;
  do
    got = wait4(pid, &waitStatus, 0, &usage);
  while ((got < 0 && errno == EINTR) || (got == pid && WIFSTOPPED(waitStatus)));
  reaped = true;
  forget(pid);
  used.peakMemoryBytes = int64_t(usage.ru_maxrss) * 1024;
  auto seconds = [](const struct timeval &time) {
    return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  };
  used.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Child::explainDeath(const char *doing, Failure &failure) {
  // Give a process that is on its way out the time to get there: what it died
  // of is in its exit status.
  for (int i = 0; i < 200 && !hasEnded(); ++i) {
    struct timespec wait = {0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
  bool ended = hasEnded();
  killAndReap();
  char text[400];
  if (!ended) {
    failure = {Status::Crash, "the " + name + " stopped answering " + doing};
    return;
  }
  uint32_t denied = control->deniedCall.load();
  bool wasDenied =
      denied != 0 && WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == 159;
  if (wasDenied) {
    char *call =
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, int(denied - 1));
    uint64_t argument = control->deniedArgument.load();
    bool tooLarge =
        call && !std::strcmp(call, "mmap") &&
        argument > uint64_t(options.memoryBytes + options.bufferBytes);
    if (tooLarge) {
      snprintf(text, sizeof(text),
               "the %s asked for %.4g GB at once %s; limits.memory_bytes "
               "allows %.4g GB",
               name.c_str(), double(argument) * 1e-9, doing,
               double(options.memoryBytes) * 1e-9);
      failure = {Status::Memory, text};
    } else {
      snprintf(text, sizeof(text),
               "the %s made the system call '%s' %s; a kernel computes, it "
               "opens no files, sockets or processes",
               name.c_str(), call ? call : "unknown", doing);
      failure = {Status::Refused, text};
    }
    free(call);
    return;
  }
  if (WIFSIGNALED(waitStatus)) {
    int signal = WTERMSIG(waitStatus);
    if (signal == SIGSYS) {
      failure = {Status::Refused,
                 "the " + name + " made a forbidden system call " + doing};
      return;
    }
    // Allocations that failed are the usual end of a program that takes too
    // much: libraries and the stack take a little themselves.
    if (signal != SIGKILL &&
        used.peakMemoryBytes > options.memoryBytes / 10 * 8) {
      snprintf(text, sizeof(text),
               "the %s died of signal %d %s after taking %.3g GB; "
               "limits.memory_bytes allows %.3g GB",
               name.c_str(), signal, doing, double(used.peakMemoryBytes) * 1e-9,
               double(options.memoryBytes) * 1e-9);
      failure = {Status::Memory, text};
      return;
    }
    const char *hint =
        signal == SIGSEGV || signal == SIGBUS
            ? " (it touched memory outside its buffers or wrote to an input)"
        : signal == SIGXCPU ? " (limit of processor time)"
                            : "";
    snprintf(text, sizeof(text), "the %s died of signal %d, %s, %s%s",
             name.c_str(), signal, strsignal(signal), doing, hint);
    failure = {Status::Crash, text};
    return;
  }
  snprintf(text, sizeof(text),
           "the %s ended its process with code %d %s; a kernel must return",
           name.c_str(), WEXITSTATUS(waitStatus), doing);
  failure = {Status::Crash, text};
}

uint32_t Child::protections() const { return control->protections.load(); }

Resources Child::finish() {
  killAndReap();
  return used;
}
