//===- DefaultBanks.cpp - Where winners are looked for --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "fastk/Support/ShippedFolder.h"
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
  if (std::optional<std::string> shipped = shippedFolder("winners", executable))
    banks.push_back(std::move(*shipped));
  return banks;
}
