//===- RemotePlace.h - Where a remote bank is -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// https://HOST[:PORT][/PATH][#OPTION,...]. What follows the '#' is never sent:
//
//   trusted       its winners are used without being judged here
//   token=NAME    requests carry the token in that environment variable
//   s3=REGION     requests are signed for S3, by AWS_ACCESS_KEY_ID and
//                 AWS_SECRET_ACCESS_KEY
//   max-age=S     the index is asked for after so many seconds again
//   insecure      http:// to another machine than this one
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_REMOTEPLACE_H
#define FASTK_LIB_BANK_REMOTE_REMOTEPLACE_H

#include "fastk/Http/Url.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

struct RemotePlace {
  /// As it was written, options and all.
  std::string text;
  Url url;
  bool isTrusted = false;
  /// Environment variable; empty: no token.
  std::string tokenVariable;
  /// Empty: no signatures.
  std::string s3Region;
  double maxAgeSeconds = 60;

  /// For messages, and for commands that a user types again.
  std::string shown() const { return url.shown(); }
};

/// Reads such a text. libcurl has to be there (explainNoHttp()). The error says
/// what is wrong with it.
llvm::Expected<RemotePlace> parseRemotePlace(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_REMOTEPLACE_H
