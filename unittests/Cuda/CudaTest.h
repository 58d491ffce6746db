//===- CudaTest.h - Tests that need NVRTC or a GPU --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where NVRTC or the GPU is missing, such tests are not registered; main()
// prints one line that says why. Where FASTK_REQUIRE_NVRTC or FASTK_REQUIRE_GPU
// is set, missing it is a failure.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_CUDA_CUDATEST_H
#define FASTK_UNITTESTS_CUDA_CUDATEST_H

#include "gtest/gtest.h"

namespace fastk::cuda {

/// What a test needs of the machine.
enum class Need { Nvrtc, Gpu };

/// A test that registerCudaTests() registers if its need is met.
struct ConditionalTest {
  ConditionalTest(Need need, const char *suite, const char *name,
                  const char *file, int line, void (*body)());
  Need need;
  const char *suite, *name, *file;
  int line;
  void (*body)();
};

} // namespace fastk::cuda

#define FASTK_CONDITIONAL_TEST(NEED, SUITE, NAME)                              \
  static void SUITE##_##NAME##_body();                                         \
  static const fastk::cuda::ConditionalTest SUITE##_##NAME##_test(             \
      fastk::cuda::Need::NEED, #SUITE, #NAME, __FILE__, __LINE__,              \
      SUITE##_##NAME##_body);                                                  \
  static void SUITE##_##NAME##_body()

#define NVRTC_TEST(SUITE, NAME) FASTK_CONDITIONAL_TEST(Nvrtc, SUITE, NAME)
/// Needs both.
#define GPU_TEST(SUITE, NAME) FASTK_CONDITIONAL_TEST(Gpu, SUITE, NAME)

#endif // FASTK_UNITTESTS_CUDA_CUDATEST_H
