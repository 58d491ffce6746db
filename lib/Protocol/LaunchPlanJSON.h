//===- LaunchPlanJSON.h - Plans within other documents ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROTOCOL_LAUNCHPLANJSON_H
#define FASTK_LIB_PROTOCOL_LAUNCHPLANJSON_H

#include "fastk/Protocol/JSONReader.h"
#include "fastk/Protocol/LaunchPlan.h"

namespace fastk::worker {

/// parseLaunchPlan() of JSON that is read already.
std::optional<LaunchPlan> readLaunchPlan(const Json &document,
                                         std::string &error, PlanOf whose);

} // namespace fastk::worker

#endif // FASTK_LIB_PROTOCOL_LAUNCHPLANJSON_H
