//===- LibdeviceNeed.h - What tests of compiled PTX need --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_LIBDEVICENEED_H
#define FASTK_UNITTESTS_LIBDEVICENEED_H

#include "ConditionalTest.h"
#include "fastk/Cuda/Nvrtc.h"

namespace fastk::test {

/// What tests need whose kernels call functions such as exp.
inline Need libdeviceNeed() {
  return {"libdevice",
          cuda::findLibdevice().empty()
              ? "libdevice.10.bc was not found: scripts/install-deps.sh --cuda"
              : "",
          "FASTK_REQUIRE_NVRTC"};
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_LIBDEVICENEED_H
