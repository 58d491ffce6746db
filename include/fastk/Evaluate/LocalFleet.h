//===- LocalFleet.h - Evaluations on all GPUs of this machine ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_LOCALFLEET_H
#define FASTK_EVALUATE_LOCALFLEET_H

#include "fastk/Evaluate/LocalPool.h"
#include <vector>

namespace fastk {

struct LocalFleetOptions {
  LocalPoolOptions pool;
  /// A spool that only this machine sees. Jobs that were answered and not asked
  /// for again when the process was killed are found there.
  std::string spool;
  /// The GPUs, as the driver counts them.
  std::vector<unsigned> gpus;
};

/// As a local pool, with a worker for each of several GPUs: the jobs go to a
/// spool, which `fastk-worker --gpus` answers as long as the evaluator lives.
/// So answers come later, and are waited for. What the workers say is in the
/// file workers.log of the spool's folder.
llvm::Expected<std::unique_ptr<Evaluator>>
createLocalFleet(LocalFleetOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_LOCALFLEET_H
