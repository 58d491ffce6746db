//===- Evaluator.cpp - Where evaluations run ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Evaluator.h"

using namespace fastk;

std::string fastk::verdictName(const Variant &variant, bool promote,
                               int repeat) {
  return (promote ? "promote/" : "evaluate/") + digestOf(variant) +
         (repeat > 0 ? "/" + std::to_string(repeat) : "");
}

// The one place where the vtable lives.
Evaluator::~Evaluator() = default;

llvm::Expected<Provenance>
Evaluator::provenance(LoweringOp workload, const RequestContext &context) {
  return Provenance();
}
