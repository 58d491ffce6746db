//===- BankLock.h - Who changes a bank --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_BANKLOCK_H
#define FASTK_LIB_BANK_BANKLOCK_H

#include "fastk/Support/DurableFile.h"
#include <string>
#include <vector>

namespace fastk {

/// The bank's lock. Whoever holds it is the only one to change the bank.
llvm::Expected<FileLock> lockBank(llvm::StringRef directory);

/// Hidden folders that belong to no winner. They exist only while the lock is
/// held: what is found under the lock was left by a process that died.
std::vector<std::string> findDebris(llvm::StringRef directory);

/// Where this process, under the lock, puts what is not a winner yet or any
/// more.
std::string temporaryFolder(llvm::StringRef directory);

} // namespace fastk

#endif // FASTK_LIB_BANK_BANKLOCK_H
