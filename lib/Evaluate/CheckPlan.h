//===- CheckPlan.h - May a plan run on a target -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EVALUATE_CHECKPLAN_H
#define FASTK_LIB_EVALUATE_CHECKPLAN_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "fastk/Target/TargetDescription.h"
#include <string>

namespace fastk {

/// The first rule of the target that a plan breaks; empty: none. The oracle's
/// float results are f64.
std::string checkPlan(LoweringOp workload, const worker::LaunchPlan &plan,
                      const TargetDescription &target, bool isOracle = false);

} // namespace fastk

#endif // FASTK_LIB_EVALUATE_CHECKPLAN_H
