//===- NeedsGpu.h - Tests that need a GPU -----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_WORKER_NEEDSGPU_H
#define FASTK_UNITTESTS_WORKER_NEEDSGPU_H

namespace fastk::worker::test {

/// Whether there is a GPU with its driver and NVRTC. Where there is none a line
/// says so, and with FASTK_REQUIRE_GPU in the environment the test fails.
bool hasGpu();

} // namespace fastk::worker::test

/// The first line of a test that needs a GPU.
#define NEEDS_GPU()                                                            \
  if (!fastk::worker::test::hasGpu())                                          \
  return

#endif // FASTK_UNITTESTS_WORKER_NEEDSGPU_H
