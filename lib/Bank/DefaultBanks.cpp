//===- DefaultBanks.cpp - Where winners are looked for --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace llvm;
using namespace fastk;

std::vector<std::string> fastk::defaultBanks(StringRef executable) {
  std::vector<std::string> banks;
  if (const char *variable = std::getenv("FASTK_BANK")) {
    SmallVector<StringRef> parts;
    StringRef(variable).split(parts, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef part : parts)
      banks.push_back(part.str());
  }
  SmallString<256> cache;
  if (sys::path::cache_directory(cache)) {
    sys::path::append(cache, "fastk", "bank");
    banks.push_back(cache.str().str());
  }
  // argv[0] may be a bare name or a symbolic link; the running program is not.
  std::string program = sys::fs::getMainExecutable(
      executable.str().c_str(), reinterpret_cast<void *>(&defaultBanks));
  // Of an installation, and of a build or a folder that was copied.
  for (StringRef folder : {"share/fastk/winners", "winners"}) {
    SmallString<256> shipped(sys::path::parent_path(program));
    sys::path::append(shipped, "..", folder);
    sys::path::remove_dots(shipped, /*remove_dot_dot=*/true);
    if (!sys::fs::is_directory(shipped))
      continue;
    banks.push_back(shipped.str().str());
    break;
  }
  return banks;
}
