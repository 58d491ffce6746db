//===- Url.h - Where a server is --------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_URL_H
#define FASTK_HTTP_URL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

struct Url {
  std::string scheme, host, port, path, query;

  /// With `more` after the path.
  Url withPath(llvm::StringRef more) const;
  std::string str() const;
  /// For messages: without the query.
  std::string shown() const;
  bool isEncrypted() const { return scheme == "https"; }
  /// The host is this machine whatever a name server says.
  bool isLoopback() const;
};

/// Reads an http or https URL as libcurl does. Names, passwords and fragments
/// are refused: URLs get into messages.
llvm::Expected<Url> parseUrl(llvm::StringRef text);

/// One segment of a path, or with slashes several.
std::string percentEncoded(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_HTTP_URL_H
