//===- CudaOnHost.h - Headers in CUDA-C, run on the host --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_CUDAONHOST_H
#define FASTK_UNITTESTS_FAMILIES_CUDAONHOST_H

#include "fastk/Analysis/CanonicalForm.h"

namespace fastk::test {

/// Compiles functions that a header has, and what the prelude has, and runs
/// main() of \p program. What went wrong, with what it printed; empty: nothing.
std::string runFunctions(const std::string &functions,
                         const std::string &program);

/// Computes every vector of a pointwise header on this machine, by load() and
/// finish(), and runs `checks`, the body of a function that returns 0 if all
/// is right. What went wrong; empty: nothing.
///
/// Operands are a0, a1, ... in the order of the function that the workload is
/// made of, the result is `out`, of `elements`. Elements of floats are drawn,
/// and NaN in front of and behind each operand; integers are in [low, high].
std::string runPointwise(const std::string &header, CanonicalForm &form,
                         int64_t low, int64_t high, const std::string &checks);

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_CUDAONHOST_H
