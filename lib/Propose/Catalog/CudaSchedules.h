//===- CudaSchedules.h - Schedules mapped to a GPU --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_CUDASCHEDULES_H
#define FASTK_LIB_PROPOSE_CATALOG_CUDASCHEDULES_H

#include "Schedules.h"

namespace fastk {
namespace catalog {

/// The schedule of the family that the pattern belongs to: elementwise chains,
/// rows with reductions, one product. Empty for others. `parameters` holds
/// "tile", a number below kScheduleChoices; the sizes that were taken come back
/// with the program.
ScheduleProgram emitCudaSchedule(mlir::Block &pattern,
                                 const Parameters &parameters);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_CUDASCHEDULES_H
