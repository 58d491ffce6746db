//===- Schedules.h - Transform-dialect realisations -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H
#define FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H

#include "fastk/Propose/Catalog/CKernel.h"

namespace fastk {
namespace catalog {

struct ScheduleProgram {
  /// A module with the named sequence @__fastk_schedule; empty when no schedule
  /// is known for the pattern.
  std::string text;
  Parameters parameters;
};

ScheduleProgram emitSchedule(mlir::Block &pattern, const Machine &machine,
                             const Parameters &parameters);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H
