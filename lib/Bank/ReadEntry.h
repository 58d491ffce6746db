//===- ReadEntry.h - One folder of a bank, as far as its head ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_READENTRY_H
#define FASTK_LIB_BANK_READENTRY_H

#include "fastk/Bank/Bank.h"

namespace fastk {

/// Reads the head of the winner in `folder`, or says why it cannot.
BankEntry readBankEntry(llvm::StringRef folder);

} // namespace fastk

#endif // FASTK_LIB_BANK_READENTRY_H
