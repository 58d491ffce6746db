//===- RunPasses.cpp - Passes inside of fastk's own steps -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/RunPasses.h"

using namespace mlir;
using namespace fastk;

/// What this thread's passes are a part of; null where nobody looks.
static thread_local TimingScope *current = nullptr;

ObservedPasses::ObservedPasses(TimingScope *timing) : before(current) {
  current = timing;
}

ObservedPasses::~ObservedPasses() { current = before; }

LogicalResult fastk::runPasses(PassManager &passes, Operation *op) {
  if (current) {
    if (failed(applyPassManagerCLOptions(passes)))
      return failure();
    passes.enableTiming(*current);
  }
  return passes.run(op);
}

TimingScope fastk::timeStep(StringRef name) {
  return current ? current->nest(name) : TimingScope();
}
