//===- Key.cpp - The key that names a workload ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Support/Sha256.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;

/// A copy of the op around `pattern` that has this region alone: values of a
/// plan beside it would move the numbers of the pattern's.
static Operation *copyWithoutOtherRegions(Region &pattern) {
  Operation *parent = pattern.getParentOp();
  Operation *copy = parent->cloneWithoutRegions();
  IRMapping mapping;
  pattern.cloneInto(&copy->getRegion(pattern.getRegionNumber()), mapping);
  return copy;
}

std::string fastk::serializePattern(Region &pattern) {
  Operation *parent = pattern.getParentOp();
  if (llvm::any_of(parent->getRegions(), [&](Region &other) {
        return &other != &pattern && !other.empty();
      })) {
    Operation *copy = copyWithoutOtherRegions(pattern);
    std::string text =
        serializePattern(copy->getRegion(pattern.getRegionNumber()));
    copy->erase();
    return text;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  // Every flag that changes the text is set: their defaults come from the
  // command line, and a key does not. Nothing is elided, so that two constants
  // that differ in one element differ here.
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  flags.printGenericOpForm().useLocalScope().enableDebugInfo(false);
  flags.elideLargeElementsAttrs(kNoLimit).elideLargeResourceString(kNoLimit);
  flags.printLargeElementsAttrWithHex(100);
  flags.skipRegions(false).printValueUsers(false).printUniqueSSAIDs(false);
  flags.printNameLocAsPrefix(false).assumeVerified(false);
  // The op that holds the region carries names and records; only the region
  // has meaning. Naming it through the parent keeps SSA numbers local to it.
  AsmState state(parent, flags);
  Block &block = pattern.front();
  os << "(";
  llvm::interleaveComma(block.getArguments(), os, [&](BlockArgument arg) {
    arg.printAsOperand(os, state);
    os << ": " << arg.getType();
  });
  os << ")\n";
  for (Operation &op : block) {
    op.print(os, state);
    os << "\n";
  }
  return text;
}

std::string fastk::computeKey(Region &pattern) {
  return sha256(serializePattern(pattern));
}
