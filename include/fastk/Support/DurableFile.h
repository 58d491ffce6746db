//===- DurableFile.h - Files that survive a crash ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the bank and the journal share: reading a file that may be anything,
// writing one so that it is wholly there or not at all, and a lock between
// processes. Every error names the file and what to do about it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_DURABLEFILE_H
#define FASTK_SUPPORT_DURABLEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace fastk {

/// "<path>: cannot <action>: <reason of errnum>; <remedy>". The remedy follows
/// from errnum: a full disk, a read-only folder, a missing permission.
llvm::Error fileError(llvm::StringRef path, llvm::StringRef action, int errnum);

/// Reads a regular file of at most `limit` bytes. Symbolic links, pipes and
/// devices are refused. `folder` is an open directory or AT_FDCWD; `shown` is
/// the name used in messages. With `prefixOnly` a longer file is cut at `limit`
/// instead of refused.
llvm::Expected<std::string> readRegularFile(int folder, llvm::StringRef name,
                                            llvm::StringRef shown, size_t limit,
                                            bool prefixOnly = false);

/// Creates `path` with `content` and flushes it to the disk.
llvm::Error writeNewFile(llvm::StringRef path, llvm::StringRef content);

/// Replaces or creates `path` atomically: a reader sees the old content or the
/// new one. Writers of one path must hold one lock. A link is replaced: what a
/// user named is written by writeOutput() (OutputPlace.h).
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef content);

/// Flushes a directory, so that names made in it survive a power cut.
llvm::Error syncDirectory(llvm::StringRef path);

/// Creates a folder and its parents.
llvm::Error createDirectories(llvm::StringRef path);

/// An error where the file system of `folder`, which exists, has less than
/// `bytes` left for this user.
llvm::Error checkFreeSpace(llvm::StringRef folder, uint64_t bytes);

/// An error where this user may not make files in `folder`, which exists, or
/// has less than `bytes` left there. `doing`, as "write", is for the message.
llvm::Error checkFolder(llvm::StringRef folder, llvm::StringRef doing,
                        uint64_t bytes);

/// An error where no file could be made at `path`, or take the place of the one
/// that is there. Changes nothing. What is no file, a device or a pipe, is
/// nobody's business.
llvm::Error checkWritable(llvm::StringRef path);

/// Another process holds a lock.
class InUseError : public llvm::ErrorInfo<InUseError> {
public:
  static char ID;
  InUseError(std::string path, std::string what, std::string holder)
      : path(std::move(path)), what(std::move(what)),
        holder(std::move(holder)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
  /// "process 4711", as far as it is known.
  llvm::StringRef getHolder() const { return holder; }

private:
  std::string path, what, holder;
};

/// An exclusive lock between processes. The kernel drops it with the process
/// that held it, so a killed process leaves no stale lock behind.
class FileLock {
public:
  /// Waits at most `timeoutSeconds`, then fails with an InUseError. `what` says
  /// in the message what is locked: "the bank /x".
  static llvm::Expected<FileLock>
  acquire(llvm::StringRef path, llvm::StringRef what, double timeoutSeconds);
  FileLock(FileLock &&other);
  FileLock &operator=(FileLock &&other);
  ~FileLock();

private:
  explicit FileLock(int descriptor) : descriptor(descriptor) {}
  int descriptor;
};

} // namespace fastk

#endif // FASTK_SUPPORT_DURABLEFILE_H
