//===- FileFaults.cpp - A file system that fails on demand ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With LD_PRELOAD the environment arms it: FASTK_FAULT="FAULT AT FOLDER", with
// the fault's number, and FASTK_FAULT_COUNT=FILE, where the number of calls is
// written at the end. Only the process that was started with them is meant, not
// its children.
//
//===----------------------------------------------------------------------===//

#include "FileFaults.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using fastk::test::Fault;

namespace {

std::atomic<int> calls{0};
Fault fault = Fault::None;
int faultAt = 0;
/// Empty: not armed.
char folder[PATH_MAX] = "";

template <typename Function>
Function real(const char *name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}
#define FASTK_REAL(name)                                                       \
  static const auto real_##name = real<decltype(&::name)>(#name)

bool isBelow(const char *path) {
  size_t length = std::strlen(folder);
  return length != 0 && path && std::strncmp(path, folder, length) == 0;
}
bool isBelow(int directory, const char *path) {
  if (path && path[0] == '/')
    return isBelow(path);
  char link[64], name[PATH_MAX];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
  ssize_t size = folder[0] && directory >= 0
                     ? ::readlink(link, name, sizeof(name) - 1)
                     : -1;
  if (size < 0)
    return false;
  name[size] = 0;
  return isBelow(name);
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;)
    ::pause();
}

enum class Decision { Do, Fail, Half, HalfThenFail, HalfThenDie, DoThenDie };

/// What becomes of a call that changes something below the folder. Sets errno
/// where it fails.
Decision decide(bool needsSpace) {
  int call = ++calls;
  if (fault == Fault::None || call < faultAt)
    return Decision::Do;
  bool now = call == faultAt;
  switch (fault) {
  case Fault::None:
  case Fault::NoExchange:
    return Decision::Do;
  case Fault::KillBefore:
    die();
  case Fault::KillAfter:
    return Decision::DoThenDie;
  case Fault::KillTorn:
    return Decision::HalfThenDie;
  case Fault::Short:
    return now ? Decision::Half : Decision::Do;
  case Fault::NoSpace:
    errno = ENOSPC;
    if (!needsSpace)
      return Decision::Do;
    return now ? Decision::HalfThenFail : Decision::Fail;
  case Fault::NoSpaceOnce:
    errno = ENOSPC;
    return now && needsSpace ? Decision::HalfThenFail : Decision::Do;
  case Fault::Io:
    errno = EIO;
    return Decision::Fail;
  case Fault::IoOnce:
    errno = EIO;
    return now ? Decision::Fail : Decision::Do;
  }
  return Decision::Do;
}

/// A call that happens wholly or not at all.
template <typename Call>
int whole(bool needsSpace, Call call) {
  switch (decide(needsSpace)) {
  case Decision::Do:
  case Decision::Half:
    return call();
  case Decision::Fail:
  case Decision::HalfThenFail:
    return -1;
  case Decision::HalfThenDie:
  case Decision::DoThenDie:
    (void)call();
    die();
  }
  return -1;
}

/// One that may write a part.
template <typename Write>
ssize_t partly(size_t size, Write write) {
  Decision decision = decide(/*needsSpace=*/true);
  int errnum = errno;
  switch (decision) {
  case Decision::Do:
    return write(size);
  case Decision::Fail:
    return -1;
  case Decision::Half:
    return write((size + 1) / 2);
  case Decision::HalfThenFail:
    // The part that fitted is there, as write(2) says; the next call has no
    // room for a byte. Here both in one, so that nobody's loop hides it.
    (void)write(size / 2);
    errno = errnum;
    return -1;
  case Decision::HalfThenDie:
    (void)write(size / 2);
    die();
  case Decision::DoThenDie:
    (void)write(size);
    die();
  }
  return -1;
}

bool changes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

void reportCount() {
  const char *file = std::getenv("FASTK_FAULT_COUNT");
  int fd = file ? ::open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
  if (fd < 0)
    return;
  std::string text = std::to_string(calls.load()) + "\n";
  (void)!::write(fd, text.data(), text.size());
  ::close(fd);
}

[[gnu::constructor]] void armByEnvironment() {
  const char *spec = std::getenv("FASTK_FAULT");
  int which = 0, at = 0, used = 0;
  if (!spec || std::sscanf(spec, "%d %d %n", &which, &at, &used) != 2)
    return;
  fastk::test::armFault(static_cast<Fault>(which), at, spec + used);
  std::atexit(reportCount);
  // Compilers and workers are other processes.
  ::unsetenv("FASTK_FAULT");
  ::unsetenv("LD_PRELOAD");
}

} // namespace

void fastk::test::armFault(Fault newFault, int at, const std::string &below) {
  calls = 0;
  fault = newFault;
  faultAt = at;
  std::snprintf(folder, sizeof(folder), "%s", below.c_str());
}
void fastk::test::disarmFault() { folder[0] = 0; }
int fastk::test::faultCalls() { return calls; }

extern "C" {

int open(const char *path, int flags, ...) {
  FASTK_REAL(open);
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (!changes(flags) || !isBelow(path))
    return real_open(path, flags, mode);
  return whole(true, [&] { return real_open(path, flags, mode); });
}
int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return open(path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
  FASTK_REAL(openat);
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (!changes(flags) || !isBelow(directory, path))
    return real_openat(directory, path, flags, mode);
  return whole(true, [&] { return real_openat(directory, path, flags, mode); });
}
ssize_t write(int fd, const void *data, size_t size) {
  FASTK_REAL(write);
  if (!isBelow(fd, nullptr))
    return real_write(fd, data, size);
  return partly(size, [&](size_t part) { return real_write(fd, data, part); });
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  FASTK_REAL(pwrite);
  if (!isBelow(fd, nullptr))
    return real_pwrite(fd, data, size, offset);
  return partly(
      size, [&](size_t part) { return real_pwrite(fd, data, part, offset); });
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  return pwrite(fd, data, size, offset);
}
int fsync(int fd) {
  FASTK_REAL(fsync);
  if (!isBelow(fd, nullptr))
    return real_fsync(fd);
  return whole(true, [&] { return real_fsync(fd); });
}
int fdatasync(int fd) {
  FASTK_REAL(fdatasync);
  if (!isBelow(fd, nullptr))
    return real_fdatasync(fd);
  return whole(true, [&] { return real_fdatasync(fd); });
}
int ftruncate(int fd, off_t length) noexcept {
  FASTK_REAL(ftruncate);
  if (!isBelow(fd, nullptr))
    return real_ftruncate(fd, length);
  return whole(false, [&] { return real_ftruncate(fd, length); });
}
int ftruncate64(int fd, off64_t length) noexcept {
  return ftruncate(fd, length);
}
int rename(const char *from, const char *to) noexcept {
  FASTK_REAL(rename);
  if (!isBelow(to))
    return real_rename(from, to);
  return whole(true, [&] { return real_rename(from, to); });
}
int renameat2(int fromFolder, const char *from, int toFolder, const char *to,
              unsigned flags) noexcept {
  FASTK_REAL(renameat2);
  if (!isBelow(toFolder, to))
    return real_renameat2(fromFolder, from, toFolder, to, flags);
  if (fault == Fault::NoExchange && flags != 0) {
    errno = EINVAL;
    return -1;
  }
  return whole(true, [&] {
    return real_renameat2(fromFolder, from, toFolder, to, flags);
  });
}
int mkdir(const char *path, mode_t mode) noexcept {
  FASTK_REAL(mkdir);
  if (!isBelow(path))
    return real_mkdir(path, mode);
  return whole(true, [&] { return real_mkdir(path, mode); });
}
int link(const char *from, const char *to) noexcept {
  FASTK_REAL(link);
  if (!isBelow(to))
    return real_link(from, to);
  return whole(true, [&] { return real_link(from, to); });
}
int unlink(const char *path) noexcept {
  FASTK_REAL(unlink);
  if (!isBelow(path))
    return real_unlink(path);
  return whole(false, [&] { return real_unlink(path); });
}
int remove(const char *path) noexcept {
  FASTK_REAL(remove);
  if (!isBelow(path))
    return real_remove(path);
  return whole(false, [&] { return real_remove(path); });
}
int rmdir(const char *path) noexcept {
  FASTK_REAL(rmdir);
  if (!isBelow(path))
    return real_rmdir(path);
  return whole(false, [&] { return real_rmdir(path); });
}
int unlinkat(int directory, const char *path, int flags) noexcept {
  FASTK_REAL(unlinkat);
  if (!isBelow(directory, path))
    return real_unlinkat(directory, path, flags);
  return whole(false, [&] { return real_unlinkat(directory, path, flags); });
}

} // extern "C"
