//===- Inputs.h - Filling operands ------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_INPUTS_H
#define FASTK_LIB_WORKER_VALUES_INPUTS_H

#include "Trials.h"

namespace fastk::worker {

/// Fills operand \p index of the job.
void fillInput(const Job &job, size_t index, const Trial &trial, void *data);

/// Copies an operand, moving every finite element of a float by the relative
/// amount \p delta up or down, at random. \p from and \p to may be the same.
void perturb(const Tensor &tensor, uint64_t seed, double delta,
             const void *from, void *to);

/// How many of so many elements mutate() redraws: one in 128, so that few rows
/// stay what they were, and of very many one in 1024.
inline int64_t mutationsOf(int64_t elements) {
  int64_t few = elements / 1024, many = elements / 128;
  int64_t most = few > 131072 ? few : 131072;
  int64_t count = (many < most ? many : most) + 16;
  return elements < count ? elements : count;
}

/// Redraws so many elements in place.
void mutate(const Job &job, size_t index, const Trial &trial, uint64_t seed,
            void *data);

/// Rounds a float wider than FP16 to FP16, in place. Returns whether it is one.
bool roundToHalf(const Tensor &tensor, void *data);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_INPUTS_H
