//===- ProcessFolder.h - A folder that goes with its process ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_PROCESSFOLDER_H
#define FASTK_SYSTEM_PROCESSFOLDER_H

#include <string>
#include <system_error>

namespace fastk {

/// A temporary folder of a new name. It is removed with all that is in it: with
/// the object, and when a signal ends the process (EndingSignals.h).
class ProcessFolder {
public:
  ProcessFolder() = default;
  ProcessFolder(ProcessFolder &&other) noexcept;
  ProcessFolder &operator=(ProcessFolder &&other) noexcept;
  ~ProcessFolder();

  /// Makes PLACE/PREFIX-XXXXXX; without \p place where temporary files are
  /// made: in $TMPDIR, or /tmp.
  std::error_code create(const std::string &prefix,
                         const std::string &place = {});

  /// Empty before create().
  const std::string &path() const { return folder; }
  /// A file of that name in it.
  std::string file(const std::string &name) const {
    return folder + "/" + name;
  }

private:
  std::string folder;
};

/// "cannot write temporary files in /tmp: REASON; REMEDY": what to say where a
/// ProcessFolder or a file in it cannot be written. Nobody named that file.
std::string explainTemporaryFileError(std::error_code code);

/// From now on \p path, a file or a folder with all that is in it, is removed
/// when a signal ends the process; until keepAtEnd().
void removeAtEnd(const std::string &path);
void keepAtEnd(const std::string &path);

/// Removes the temporary folders of this process, and what removeAtEnd() was
/// told. Safe in a signal handler.
void removeTemporaryFolders();

} // namespace fastk

#endif // FASTK_SYSTEM_PROCESSFOLDER_H
