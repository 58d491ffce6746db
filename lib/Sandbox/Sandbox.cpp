//===- Sandbox.cpp - What a program may not do ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Sandbox/Sandbox.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <initializer_list>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

using namespace fastk::sandbox;

//===----------------------------------------------------------------------===//
// Limits and identity
//===----------------------------------------------------------------------===//

/// \p margin lies between what is noticed and what cannot be exceeded.
static bool limit(decltype(RLIMIT_AS) resource, uint64_t value,
                  uint64_t margin = 0) {
  struct rlimit old;
  if (getrlimit(resource, &old) != 0)
    return false;
  auto allowed = [&](rlim_t wanted) {
    return old.rlim_max == RLIM_INFINITY ? wanted
                                         : std::min(wanted, old.rlim_max);
  };
  struct rlimit both = {allowed(value), allowed(value + margin)};
  return setrlimit(resource, &both) == 0;
}

static bool setLimits(const Limits &limits) {
  bool all = true;
  // The address sanitizer reserves terabytes.
#if !__has_feature(address_sanitizer)
  all &= limit(RLIMIT_AS, limits.addressSpaceBytes);
#endif
  // SIGXCPU says why the process ended. At the second limit SIGKILL says
  // nothing, and the times of the process do not, either: the kernel limits
  // ticks, and tells what was measured, which is less on a busy machine.
  all &= limit(RLIMIT_CPU, limits.cpuSeconds, /*margin=*/1);
  all &= limit(RLIMIT_FSIZE, limits.fileBytes);
  all &= limit(RLIMIT_CORE, 0);
  all &= limit(RLIMIT_NOFILE, 256);
  all &= limit(RLIMIT_MEMLOCK, 0);
  all &= limit(RLIMIT_MSGQUEUE, 0);
  all &= limit(RLIMIT_STACK, limits.stackBytes);
  return all;
}

/// Without capabilities and, where the worker is root, as a user of its own:
/// only then does RLIMIT_NPROC bind, and only this child's threads count.
static uint32_t dropPrivileges(const Limits &limits) {
  uint32_t active = 0;
  for (int capability = 0; capability <= 63; ++capability)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  if (limits.uid != 0 && setgroups(0, nullptr) == 0 &&
      setresgid(limits.uid, limits.uid, limits.uid) == 0 &&
      setresuid(limits.uid, limits.uid, limits.uid) == 0) {
    active |= ProtectUser;
    if (limit(RLIMIT_NPROC, limits.threadLimit))
      active |= ProtectThreads;
  }
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  std::memset(data, 0, sizeof(data));
  if (syscall(SYS_capset, &header, data) == 0)
    active |= ProtectCapabilities;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    active |= ProtectNoNewPrivileges;
  return active;
}

//===----------------------------------------------------------------------===//
// Landlock
//===----------------------------------------------------------------------===//

static void allowReading(int ruleset, const char *path, bool execute) {
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0)
    return;
  struct landlock_path_beneath_attr rule = {};
  rule.parent_fd = fd;
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
  if (execute)
    rule.allowed_access |= LANDLOCK_ACCESS_FS_EXECUTE;
  syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(fd);
}

/// Of the whole file system only the libraries can be read, nothing listed,
/// nothing written. Newer kernels also close TCP and signals to others.
static bool enterLandlock() {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0,
                     LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1)
    return false;
  // The kernel's structure grows at its end; the header's may be older.
  struct {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
  } attributes = {(1ull << 13) - 1, 0, 0};
  size_t size = sizeof(uint64_t);
  if (abi >= 2)
    attributes.files |= 1ull << 13; // Moving files between folders.
  if (abi >= 3)
    attributes.files |= 1ull << 14; // truncate
  if (abi >= 4) {
    attributes.network = 3; // TCP bind and connect.
    size = 2 * sizeof(uint64_t);
  }
  if (abi >= 5)
    attributes.files |= 1ull << 15; // ioctl on devices.
  if (abi >= 6) {
    attributes.scoped = 3; // Abstract sockets and signals of others.
    size = 3 * sizeof(uint64_t);
  }
  int ruleset = int(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0)
    return false;
  for (const char *folder :
       {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"})
    allowReading(ruleset, folder, true);
  // Where the user keeps more libraries.
  if (const char *paths = getenv("LD_LIBRARY_PATH")) {
    std::string rest = paths;
    for (size_t at = 0; at <= rest.size();) {
      size_t end = std::min(rest.find(':', at), rest.size());
      std::string folder = rest.substr(at, end - at);
      if (folder.size() > 1 && folder[0] == '/')
        allowReading(ruleset, folder.c_str(), true);
      at = end + 1;
    }
  }
  // What the loader and OpenMP ask about the machine.
  for (const char *file :
       {"/etc/ld.so.cache", "/sys/devices/system/cpu", "/proc/cpuinfo"})
    allowReading(ruleset, file, false);
  bool ok = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return ok;
}

//===----------------------------------------------------------------------===//
// System calls
//===----------------------------------------------------------------------===//

static DeniedCall *deniedNote;

/// What glibc's allocator opens on its own when memory of another thread's
/// arena is given back for the first time (arena.c: shrink_heap).
static constexpr char kAskedByAllocator[] = "/proc/sys/vm/overcommit_memory";

/// Leaves a note for the reason of the verdict, then goes. A program that
/// blocks SIGSYS is killed by the kernel instead.
static void onDenied(int, siginfo_t *info, void *context) {
  auto *user = static_cast<ucontext_t *>(context);
#if defined(__x86_64__)
  auto argument = uint64_t(user->uc_mcontext.gregs[REG_RSI]);
  auto &result = user->uc_mcontext.gregs[REG_RAX];
#elif defined(__aarch64__)
  uint64_t argument = user->uc_mcontext.regs[1];
  auto &result = user->uc_mcontext.regs[0];
#endif
  // The allocator goes on without: a program that frees memory in a thread
  // opens no file of its own.
  if (info->si_syscall == __NR_openat &&
      strcmp(reinterpret_cast<const char *>(argument), kAskedByAllocator) ==
          0) {
    result = -EACCES;
    return;
  }
  deniedNote->argument = argument;
  deniedNote->call = uint32_t(info->si_syscall) + 1;
  // Nothing of the C library: whatever hooks it may make more such calls.
  syscall(SYS_exit_group, 159);
}

static int firstFilterError = 0;

int fastk::sandbox::filterError() { return firstFilterError; }

/// Of what libseccomp returns: 0, or an errno below 0.
static bool succeeded(int result) {
  if (result != 0 && firstFilterError == 0)
    firstFilterError = -result;
  return result == 0;
}

/// Null only where memory runs out.
static scmp_filter_ctx newFilter(uint32_t action) {
  scmp_filter_ctx filter = seccomp_init(action);
  succeeded(filter ? 0 : -ENOMEM);
  return filter;
}

/// Adds a rule for a call of that name if this architecture has it.
static bool rule(scmp_filter_ctx filter, uint32_t action, const char *name) {
  int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR || number < 0)
    return true;
  return succeeded(seccomp_rule_add(filter, action, number, 0));
}

static bool ruleWhen(scmp_filter_ctx filter, uint32_t action, int call,
                     scmp_arg_cmp condition) {
  return succeeded(seccomp_rule_add_array(filter, action, call, 1, &condition));
}

static bool allowList(bool mayExecute) {
  scmp_filter_ctx filter = newFilter(SCMP_ACT_TRAP);
  if (!filter)
    return false;
  bool ok = true;
  // Memory, threads, time, randomness; files only for the loader (the second
  // filter closes them); the rest serves a child's orderly end.
  for (const char *name : {"read",
                           "pread64",
                           "readv",
                           "write",
                           "writev",
                           "close",
                           "fstat",
                           "newfstatat",
                           "statx",
                           "stat",
                           "lstat",
                           "lseek",
                           "open",
                           "openat",
                           "access",
                           "faccessat",
                           "faccessat2",
                           "readlink",
                           "readlinkat",
                           "getcwd",
                           "fcntl",
                           "mmap",
                           "munmap",
                           "mprotect",
                           "mremap",
                           "madvise",
                           "brk",
                           "futex",
                           "futex_wait",
                           "futex_wake",
                           "sched_yield",
                           "sched_getaffinity",
                           "sched_setaffinity",
                           "sched_getparam",
                           "sched_getscheduler",
                           "set_robust_list",
                           "get_robust_list",
                           "set_tid_address",
                           "rseq",
                           "membarrier",
                           "arch_prctl",
                           "getpid",
                           "getppid",
                           "gettid",
                           "getuid",
                           "geteuid",
                           "getgid",
                           "getegid",
                           "getcpu",
                           "getrandom",
                           "getrusage",
                           "getrlimit",
                           "sysinfo",
                           "uname",
                           "times",
                           "time",
                           "gettimeofday",
                           "clock_gettime",
                           "clock_getres",
                           "nanosleep",
                           "clock_nanosleep",
                           "pause",
                           "rt_sigprocmask",
                           "rt_sigaction",
                           "rt_sigreturn",
                           "sigaltstack",
                           "restart_syscall",
                           "recvmsg",
                           "seccomp",
                           "prctl",
                           "exit",
                           "exit_group"})
    ok &= rule(filter, SCMP_ACT_ALLOW, name);
  if (mayExecute)
    for (const char *name : {"execve", "execveat", "sched_get_priority_max",
                             "sched_get_priority_min"})
      ok &= rule(filter, SCMP_ACT_ALLOW, name);
  // Threads, not processes; the signals of abort(), not those to others.
  ok &= ruleWhen(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone),
                 {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD});
  ok &= ruleWhen(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill),
                 {0, SCMP_CMP_EQ, scmp_datum_t(getpid()), 0});
  // Reading limits: the new limit must be null.
  ok &= ruleWhen(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64),
                 {2, SCMP_CMP_EQ, 0, 0});
  // Setting them is refused, not trapped: compilers try for a larger stack.
  ok &= ruleWhen(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64),
                 {2, SCMP_CMP_NE, 0, 0});
  // Printing asks whether it prints to a terminal.
  ok &= rule(filter, SCMP_ACT_ERRNO(ENOTTY), "ioctl");
  // glibc falls back to clone, whose flags can be seen.
  ok &= succeeded(
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0));
  ok = ok && succeeded(seccomp_load(filter));
  seccomp_release(filter);
  return ok;
}

bool fastk::sandbox::lockSandbox(const Limits &limits) {
  scmp_filter_ctx filter = newFilter(SCMP_ACT_ALLOW);
  if (!filter)
    return false;
  // All threads: the program may have started some while it was loaded.
  bool ok = succeeded(seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1));
  for (const char *name : {"open", "openat", "stat", "lstat", "statx", "access",
                           "faccessat", "faccessat2", "readlink", "readlinkat",
                           "getcwd", "seccomp", "arch_prctl"})
    ok &= rule(filter, SCMP_ACT_TRAP, name);
  // These are called on the way to abort() and when a thread is named: refused
  // without a trap.
  for (const char *name : {"rt_sigaction", "sigaltstack", "prctl"})
    ok &= rule(filter, SCMP_ACT_ERRNO(EPERM), name);
  for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
    ok &= ruleWhen(filter, SCMP_ACT_TRAP, call,
                   {2, SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC});
  ok &= ruleWhen(filter, SCMP_ACT_TRAP, SCMP_SYS(mmap),
                 {1, SCMP_CMP_GT, limits.largestMapping, 0});
  ok = ok && succeeded(seccomp_load(filter));
  seccomp_release(filter);
  return ok;
}

uint32_t fastk::sandbox::enterSandbox(const Limits &limits, DeniedCall *denied,
                                      bool mayExecute) {
  uint32_t active = 0;
  // The network goes before the right to take it away does.
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0 ||
      unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0)
    active |= ProtectNetwork;
  if (setLimits(limits))
    active |= ProtectRlimits;
  active |= dropPrivileges(limits);
  // Changing the user cleared it.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (enterLandlock())
    active |= ProtectLandlock;
  deniedNote = denied;
  struct sigaction action = {};
  action.sa_sigaction = onDenied;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  if (allowList(mayExecute))
    active |= ProtectSeccomp;
  return active;
}
