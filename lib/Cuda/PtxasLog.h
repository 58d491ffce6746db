//===- PtxasLog.h - What ptxas says of itself -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log has parts of the program in it: strings, names, numbers. What decides
// which assembler a program gets is matched as whole lines of ptxas' own, which
// no program can begin: its strings have no newline.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_PTXASLOG_H
#define FASTK_LIB_CUDA_PTXASLOG_H

#include <string_view>

namespace fastk::cuda {

/// Whether the `.version` of the PTX is newer than this ptxas.
bool saysTooNew(std::string_view log);

/// Whether this ptxas does not know the GPU \p arch, as "sm_90a".
bool saysUnknownGpu(std::string_view log, std::string_view arch);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_PTXASLOG_H
