//===- Rivals.h - Which of two winners stays --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_RIVALS_H
#define FASTK_LIB_BANK_RIVALS_H

#include "fastk/Bank/Bank.h"
#include <optional>

namespace fastk {

/// What decides between two winners of one key, target, class and machine.
struct Rival {
  double medianNs = 0;
  std::optional<bool> bitwiseDeterministic;
};

/// What a stored winner does when another of its machine is offered.
enum class StoredWinner { Stays, Yields, StandsBeside };

StoredWinner decideBetween(const Rival &stored, const Rival &fresh,
                           bool isSameProgram, WriteRule rule);

} // namespace fastk

#endif // FASTK_LIB_BANK_RIVALS_H
