//===- FuzzFolder.h - A folder in memory for readers of files ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FUZZ_FUZZFOLDER_H
#define FASTK_UNITTESTS_FUZZ_FUZZFOLDER_H

#include "FuzzTargets.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <unistd.h>

namespace fastk::fuzz {

/// In memory where the system has such a place: a disk would be flushed some
/// thousand times a second. Goes with the object.
class FuzzFolder {
public:
  FuzzFolder() {
    std::string base = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    llvm::SmallString<128> made;
    if (llvm::sys::fs::createUniqueDirectory(base + "/fastk-fuzz", made))
      fail("a folder can be made", base);
    path = made.str().str();
  }
  ~FuzzFolder() { llvm::sys::fs::remove_directories(path); }

  std::string file(llvm::StringRef name) const {
    return path + "/" + name.str();
  }
  void write(llvm::StringRef name, std::string_view content) const {
    std::error_code code;
    llvm::raw_fd_ostream os(file(name), code);
    if (code)
      fail("a file can be written", name.str());
    os << llvm::StringRef(content.data(), content.size());
  }

  std::string path;
};

} // namespace fastk::fuzz

#endif // FASTK_UNITTESTS_FUZZ_FUZZFOLDER_H
