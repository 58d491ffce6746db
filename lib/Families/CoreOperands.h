//===- CoreOperands.h - What surrounds a core ----------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_COREOPERANDS_H
#define FASTK_LIB_FAMILIES_COREOPERANDS_H

#include "fastk/Families/Emitter.h"
#include <string>

namespace fastk::families {

/// Makes buffers in0, in1, ... of a workload's operands. False: \p why says
/// which has none.
bool nameOperands(mlir::Block &body, catalog::Program &program,
                  std::string &why);

/// What a reduction starts at, at those of its loops that it does not reduce.
catalog::CValue startOf(const catalog::Reduction &reduction,
                        llvm::ArrayRef<catalog::Lin> loops,
                        catalog::Scope &scope);

/// The result of a workload, if it is one tensor of known shape; and if that is
/// of floats. Nothing: \p why says what it is not.
mlir::Value resultOf(mlir::Block &body, const catalog::Program &program,
                     std::string &why);
mlir::Value floatResultOf(mlir::Block &body, const catalog::Program &program,
                          std::string &why);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_COREOPERANDS_H
