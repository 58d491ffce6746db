//===- ChildAssemble.h - PTX assembled by the driver ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_CHILDASSEMBLE_H
#define FASTK_LIB_WORKER_CUDA_CHILD_CHILDASSEMBLE_H

#include "fastk/Cuda/Driver.h"

namespace fastk::worker {

/// Where the worker's machine has no ptxas: assembles \p ptx in this process
/// and checks the cubin. Limits of processor time and memory hold meanwhile; at
/// the end of the first the process sends a reply that says so, and ends.
/// Returns a text, empty for success.
std::string assembleHere(const cuda::Driver &driver, std::string_view ptx,
                         std::string &cubin);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_CHILDASSEMBLE_H
