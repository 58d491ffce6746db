//===- DurableFile.cpp - Files that survive a crash -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/DurableFile.h"
#include "fastk/Support/OutputPlace.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

static StringRef remedyFor(int errnum) {
  switch (errnum) {
  case ENOSPC:
  case EDQUOT:
    return "free some space there, or choose another folder";
  case EROFS:
  case EACCES:
  case EPERM:
    return "choose a folder you may write to, or change its permissions";
  case EFBIG:
    return "raise the file size limit of this shell (ulimit -f)";
  case EMFILE:
  case ENFILE:
    return "raise the limit of open files (ulimit -n)";
  case ENOTDIR:
    return "a file stands where a folder is needed; remove it or choose "
           "another folder";
  case ENOENT:
    return "check the path";
  case EISDIR:
    return "a folder stands where a file is to be written; name a file";
  case EBADF:
    return "it is closed: open it, or redirect it to a file";
  case ELOOP:
    return "symbolic links are not followed here; put the file itself there";
  default:
    return "check the disk and the path";
  }
}

Error fastk::fileError(StringRef path, StringRef action, int errnum) {
  return createStringError(std::error_code(errnum, std::generic_category()),
                           Twine(path) + ": cannot " + action + ": " +
                               std::strerror(errnum) + "; " +
                               remedyFor(errnum));
}

Expected<std::string> fastk::readRegularFile(int folder, StringRef name,
                                             StringRef shown, size_t limit,
                                             bool prefixOnly) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  int fd = ::openat(folder, name.str().c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return fileError(shown, "read", errno);
  llvm::scope_exit close([&] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return fileError(shown, "read", errno);
  if (!S_ISREG(status.st_mode))
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             Twine(shown) + ": not a regular file; remove it");
  if (!prefixOnly && static_cast<size_t>(status.st_size) > limit)
    return createStringError(std::make_error_code(std::errc::file_too_large),
                             Twine(shown) + ": has " + Twine(status.st_size) +
                                 " bytes, more than the limit of " +
                                 Twine(limit));
  std::string content;
  content.resize(std::min<size_t>(limit, status.st_size));
  size_t done = 0;
  while (done < content.size()) {
    ssize_t n = ::read(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fileError(shown, "read", errno);
    if (n == 0)
      break;
    done += n;
  }
  content.resize(done);
  return content;
}

/// Writes all of `content`, then flushes it.
static Error writeAll(int fd, StringRef path, StringRef content) {
  while (!content.empty()) {
    ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fileError(path, "write", errno);
    content = content.drop_front(n);
  }
  // Some file systems report a full disk only here.
  if (::fsync(fd) != 0)
    return fileError(path, "write", errno);
  return Error::success();
}

Error fastk::writeNewFile(StringRef path, StringRef content) {
  int fd = ::open(path.str().c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return fileError(path, "create", errno);
  Error error = writeAll(fd, path, content);
  if (::close(fd) != 0 && !error)
    error = fileError(path, "write", errno);
  if (error)
    ::unlink(path.str().c_str());
  return error;
}

Error fastk::writeFileAtomically(StringRef path, StringRef content) {
  // The name must be free: a process that died while writing may have left it.
  std::string temporary = (path + ".tmp").str();
  ::unlink(temporary.c_str());
  if (Error error = writeNewFile(temporary, content))
    return nameInstead(std::move(error), temporary, path);
  if (::rename(temporary.c_str(), path.str().c_str()) != 0) {
    int errnum = errno;
    ::unlink(temporary.c_str());
    return fileError(path, "replace", errnum);
  }
  return syncDirectory(sys::path::parent_path(path));
}

Error fastk::syncDirectory(StringRef path) {
  if (path.empty())
    path = ".";
  int fd = ::open(path.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fileError(path, "open", errno);
  int result = ::fsync(fd);
  int errnum = errno;
  ::close(fd);
  // Some network file systems cannot flush a directory; they order renames
  // themselves.
  if (result != 0 && errnum != EINVAL && errnum != ENOTSUP)
    return fileError(path, "flush", errnum);
  return Error::success();
}

Error fastk::createDirectories(StringRef path) {
  std::error_code code = sys::fs::create_directories(path);
  if (code)
    return fileError(path, "create the folder", code.value());
  if (!sys::fs::is_directory(path))
    return fileError(path, "use as a folder", ENOTDIR);
  return Error::success();
}

Error fastk::checkFreeSpace(StringRef folder, uint64_t bytes) {
  struct statvfs status;
  if (::statvfs(folder.str().c_str(), &status) != 0)
    return fileError(folder, "ask for the free space", errno);
  uint64_t left = uint64_t(status.f_bavail) * status.f_frsize;
  if (left >= bytes)
    return Error::success();
  return createStringError(std::make_error_code(std::errc::no_space_on_device),
                           Twine(folder) + ": only " + Twine(left >> 20) +
                               " MiB of the disk are " + "left, and " +
                               Twine(bytes >> 20) + " MiB are needed; " +
                               remedyFor(ENOSPC));
}

Error fastk::checkFolder(StringRef folder, StringRef doing, uint64_t bytes) {
  if (::access(folder.str().c_str(), W_OK | X_OK) != 0)
    return fileError(folder, doing, errno);
  return checkFreeSpace(folder, bytes);
}

Error fastk::checkWritable(StringRef path) {
  sys::fs::file_status status;
  std::error_code missing = sys::fs::status(path, status);
  if (!missing && status.type() == sys::fs::file_type::directory_file)
    return fileError(path, "write", EISDIR);
  if (!missing && status.type() != sys::fs::file_type::regular_file)
    return Error::success();
  // A file is replaced: its folder decides.
  std::string place = outputPlace(path);
  StringRef folder = sys::path::parent_path(place);
  if (::access(folder.empty() ? "." : folder.str().c_str(), W_OK | X_OK) != 0)
    return fileError(path, "write", errno);
  return Error::success();
}

char InUseError::ID = 0;

void InUseError::log(raw_ostream &os) const {
  os << path << ": " << what << " is in use by " << holder
     << "; wait for it to end, or choose another folder";
}

std::error_code InUseError::convertToErrorCode() const {
  return std::make_error_code(std::errc::device_or_resource_busy);
}

Expected<FileLock> FileLock::acquire(StringRef path, StringRef what,
                                     double timeoutSeconds) {
  int fd = ::open(path.str().c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                  0644);
  if (fd < 0)
    return fileError(path, "lock", errno);
  using Clock = std::chrono::steady_clock;
  auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(timeoutSeconds));
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    int errnum = errno;
    if (errnum != EWOULDBLOCK && errnum != EINTR) {
      ::close(fd);
      return fileError(path, "lock", errnum);
    }
    if (Clock::now() >= deadline) {
      char holder[32] = {};
      ssize_t n = ::pread(fd, holder, sizeof(holder) - 1, 0);
      ::close(fd);
      StringRef pid = StringRef(holder, n > 0 ? n : 0).trim();
      return make_error<InUseError>(path.str(), what.str(),
                                    pid.empty() ? "another process"
                                                : ("process " + pid).str());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Only a courtesy to whoever waits: the lock itself is the kernel's, and a
  // full disk must not stop it.
  std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) == 0)
    (void)!::pwrite(fd, pid.data(), pid.size(), 0);
  return FileLock(fd);
}

FileLock::FileLock(FileLock &&other) : descriptor(other.descriptor) {
  other.descriptor = -1;
}

FileLock &FileLock::operator=(FileLock &&other) {
  std::swap(descriptor, other.descriptor);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor >= 0)
    ::close(descriptor);
}
