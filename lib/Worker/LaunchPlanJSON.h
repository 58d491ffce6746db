//===- LaunchPlanJSON.h - Plans inside other documents ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_LAUNCHPLANJSON_H
#define FASTK_LIB_WORKER_LAUNCHPLANJSON_H

#include "JSONReader.h"
#include "fastk/Worker/LaunchPlan.h"

namespace fastk::worker {

/// Reads a plan at \p path of a document. What it returns means nothing once
/// \p error is set.
LaunchPlan readLaunchPlan(const Json &value, std::string path,
                          std::string &error);

/// The plan as one JSON object.
Json jsonOf(const LaunchPlan &plan);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_LAUNCHPLANJSON_H
