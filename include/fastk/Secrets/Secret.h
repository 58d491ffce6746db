//===- Secret.h - A key, and texts without it -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SECRETS_SECRET_H
#define FASTK_SECRETS_SECRET_H

#include "fastk/Secrets/CoreFiles.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// A key. It cannot be copied, printed or compared by accident, is wiped at the
/// end, and keeps core files away as long as it lives.
class Secret {
public:
  explicit Secret(std::string value) : value(std::move(value)) {}
  Secret(const Secret &) = delete;
  Secret &operator=(const Secret &) = delete;
  ~Secret();
  llvm::StringRef reveal() const { return value; }

private:
  std::string value;
  NoCoreFiles noCoreFiles;
};

/// Overwrites what a text held, where it stands.
void wipe(std::string &text);

/// `text` with every secret in it replaced. Secrets of fewer than eight
/// characters stay: such a one ("none", "EMPTY") protects nothing, and to
/// replace it would damage texts.
std::string withoutSecrets(llvm::StringRef text,
                           llvm::ArrayRef<llvm::StringRef> secrets);
/// Also without pieces of eight characters or more: servers quote the ends of a
/// key that they refuse. For messages; in a program it could hit what is none.
std::string withoutPieces(llvm::StringRef text,
                          llvm::ArrayRef<llvm::StringRef> secrets);

} // namespace fastk

#endif // FASTK_SECRETS_SECRET_H
