//===- Evaluator.cpp - Where evaluations run ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Evaluator.h"

// The one place where the vtable lives.
fastk::Evaluator::~Evaluator() = default;
