//===- BankPlaces.h - Where in a bank a winner lies -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BANK/TARGET/WINNER, as people like to read it; of targets with very many
// winners BANK/TARGET/reductions-N/ABC/WINNER, where a lookup lists one small
// folder and nothing else, and the folders' names say what a compile must know
// of all winners. docs/formats/bank.md.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_BANKPLACES_H
#define FASTK_LIB_BANK_BANKPLACES_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace fastk {

/// With so many winners of a target further ones are spread: listing them and
/// reading all heads takes about 20 ms.
constexpr size_t kMostBeforeSpreading = 1000;

/// Lower-case letters, digits and a few signs: what is safe in a file name and
/// in a shell.
std::string fileNamePart(llvm::StringRef text, size_t limit);

/// How a winner's folder begins that is displayed as `name`.
std::string winnerNamePrefix(llvm::StringRef name);

/// "cuda:sm_90a" lives in sm_90a/, "host" in host/.
std::string targetFolder(llvm::StringRef target);

/// The eight hex digits that end "softmax-64x128xf32-1f3a9c0b" or
/// "...-1f3a9c0b-tf32" or "...-1f3a9c0b-m0a1b2c3d"; empty for other names.
llvm::StringRef keyDigitsOfName(llvm::StringRef name);

/// The N of "reductions-N"; nothing for other names.
std::optional<unsigned> spreadReductions(llvm::StringRef name);

/// "sm_90a/reductions-2/1f3": where a winner of this key lies if it is spread.
/// A million winners are 244 in each of 4096 folders.
std::string spreadPlace(llvm::StringRef target, unsigned reductions,
                        llvm::StringRef key);

/// The part of that place that the key says: "1f3".
llvm::StringRef spreadDigits(llvm::StringRef key);

} // namespace fastk

#endif // FASTK_LIB_BANK_BANKPLACES_H
