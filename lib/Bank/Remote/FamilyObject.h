//===- FamilyObject.h - A family as one object ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_FAMILYOBJECT_H
#define FASTK_LIB_BANK_REMOTE_FAMILYOBJECT_H

#include "fastk/Bank/RemoteFamilies.h"

namespace fastk {

/// Of a family that stays where it is.
inline constexpr llvm::StringLiteral kIsAnotherFamily =
    "another family of that name is there; --replace puts this one in its "
    "place";

/// The object of the family in a folder. An error names the file that is
/// missing or cannot be read.
llvm::Expected<std::string> packFamily(const FamilyFolder &family);

/// Makes the folder of an object that has come; untrusted. One that is there is
/// exchanged with it in one step, if \p replaces: at any moment it is the old
/// family or the new one, wherever this process ends. \p check says what is
/// wrong with a folder that has come. An error says why nothing can be written.
llvm::Expected<SyncOutcome>
placeFamily(llvm::StringRef object, const FamilyFolder &family, bool replaces,
            llvm::function_ref<llvm::Error(const FamilyFolder &)> check);

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_FAMILYOBJECT_H
