//===- DefaultBanks.cpp - Where winners are looked for --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "fastk/Support/ShippedFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace llvm;
using namespace fastk;

/// Folders and URLs with ':' between them. Those of a URL are behind "https" or
/// "http", where "//" follows, and before its port.
static std::vector<std::string> splitBanks(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<std::string> banks;
  bool isHost = false;
  for (StringRef part : parts) {
    StringRef before = banks.empty() ? "" : StringRef(banks.back());
    bool isAddress =
        part.starts_with("//") && (before.equals_insensitive("https") ||
                                   before.equals_insensitive("http"));
    StringRef port = part.take_while(isDigit);
    bool isPort = isHost &&
                  !before.drop_front(before.find("//") + 2).contains('/') &&
                  !port.empty() &&
                  (port.size() == part.size() || part[port.size()] == '/' ||
                   part[port.size()] == '#');
    if (isAddress || isPort)
      banks.back() += ":" + part.str();
    else
      banks.push_back(part.str());
    isHost = isAddress;
  }
  return banks;
}

std::vector<std::string> fastk::defaultBanks(StringRef executable) {
  std::vector<std::string> banks;
  if (const char *variable = std::getenv("FASTK_BANK"))
    banks = splitBanks(variable);
  SmallString<256> cache;
  if (sys::path::cache_directory(cache)) {
    sys::path::append(cache, "fastk", "bank");
    banks.push_back(cache.str().str());
  }
  if (std::optional<std::string> shipped = shippedFolder("winners", executable))
    banks.push_back(std::move(*shipped));
  return banks;
}
