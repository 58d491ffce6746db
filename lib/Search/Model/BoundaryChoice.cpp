//===- BoundaryChoice.cpp - Which regions are better cut ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/BoundaryChoice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace fastk;

void fastk::chooseBoundaries(MutableArrayRef<BoundaryChoice> choices) {
  for (BoundaryChoice &choice : choices)
    choice.isCut = choice.wholeSeconds > 0 && choice.partsSeconds > 0 &&
                   choice.heaviestHasWinner &&
                   choice.partsSeconds < kCutGain * choice.wholeSeconds;
  // One that goes back to whole, without a winner, may be harmed by the next.
  StringSet<> harmful;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const BoundaryChoice &choice : choices)
      if (!choice.isCut && !choice.wholeHasWinner)
        for (const std::string &part : choice.parts)
          changed |= harmful.insert(part).second;
    for (BoundaryChoice &choice : choices)
      if (choice.isCut && any_of(choice.parts, [&](const std::string &part) {
            return harmful.contains(part);
          })) {
        choice.isCut = false;
        changed = true;
      }
  }
}
