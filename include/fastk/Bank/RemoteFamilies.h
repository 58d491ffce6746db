//===- RemoteFamilies.h - Families in a bank behind HTTP --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family travels as a winner does: its folder is one object, named by its
// SHA-256. One list says which there are, by target and name; nobody who looks
// for winners reads it. What comes is a family of some stranger: searches judge
// its instances as any variants.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_REMOTEFAMILIES_H
#define FASTK_BANK_REMOTEFAMILIES_H

#include "fastk/Bank/SyncOutcome.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fastk {

/// A family in a folder: "sm_90a" or "host", and the folder's name.
struct FamilyFolder {
  std::string target, name, folder;
};

/// Sends families to a bank behind HTTP. One that is there under the same name
/// and is another stays, unless \p replaces.
llvm::Expected<std::vector<SyncOutcome>>
pushFamilies(llvm::StringRef url, llvm::ArrayRef<FamilyFolder> families,
             bool replaces);

/// Writes the families of a bank to INTO/TARGET/NAME; \p onlyTarget: those for
/// one alone. \p check says what is wrong with a folder that has come; such a
/// family is left out. \p told hears what became of each; an error says why the
/// rest did not come.
llvm::Error
pullFamilies(llvm::StringRef url, llvm::StringRef into,
             llvm::StringRef onlyTarget, bool replaces,
             llvm::function_ref<llvm::Error(const FamilyFolder &family)> check,
             llvm::function_ref<void(const SyncOutcome &outcome)> told);

} // namespace fastk

#endif // FASTK_BANK_REMOTEFAMILIES_H
