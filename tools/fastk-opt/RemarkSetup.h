//===- RemarkSetup.h - mlir-opt's remark options for the driver -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_REMARKSETUP_H
#define FASTK_TOOLS_FASTK_OPT_REMARKSETUP_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace fastk {

/// Turns remarks on as --remarks-filter and its relatives ask, with the meaning
/// they have in mlir-opt.
mlir::LogicalResult setUpRemarks(mlir::MLIRContext &context);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_REMARKSETUP_H
