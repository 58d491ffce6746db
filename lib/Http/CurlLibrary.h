//===- CurlLibrary.h - libcurl, loaded when it is needed --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked, it would be wanted by every program that can ask a server and
// mostly does not, with the thirty libraries that it brings; and a program that
// is copied to another machine would take a TLS library there, which nobody
// keeps up to date.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_HTTP_CURLLIBRARY_H
#define FASTK_LIB_HTTP_CURLLIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <curl/curl.h>

namespace fastk {

/// Its functions, by their names.
struct CurlLibrary {
#define FASTK_CURL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "CurlFunctions.def"

  /// As LIBCURL_VERSION_NUM, of the library and not of the header.
  unsigned version = 0;

  /// Loads the first of these files, by the loader's rules. The error names the
  /// package that has it.
  static llvm::Expected<CurlLibrary>
  load(llvm::ArrayRef<llvm::StringLiteral> names = {"libcurl.so.4",
                                                    "libcurl-gnutls.so.4"});
  /// The one of this process, loaded when it is first asked for.
  static llvm::Expected<const CurlLibrary &> shared();
};

} // namespace fastk

#endif // FASTK_LIB_HTTP_CURLLIBRARY_H
