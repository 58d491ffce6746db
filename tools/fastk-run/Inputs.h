//===- Inputs.h - Tensors for a run -----------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_INPUTS_H
#define FASTK_TOOLS_FASTK_RUN_INPUTS_H

#include "fastk/Runtime/Signature.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fastk {

/// Inputs for a function: the first ones from `files`, the others generated.
/// Generated floats are N(0,1) scaled by the inverse root of the last extent
/// where a tensor has two dimensions or more, as weights are, so that deep
/// models stay in range; integers are 0 or 1. The same seed gives the same
/// inputs on every machine. Errors name the file and the type it should have.
llvm::Expected<std::vector<HostTensor>>
makeInputs(const Signature &signature, llvm::ArrayRef<std::string> files,
           uint64_t seed);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_RUN_INPUTS_H
