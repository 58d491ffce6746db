//===- Calibrations.h - Calibrations that fastk is shipped with -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TARGET_CALIBRATIONS_H
#define FASTK_LIB_TARGET_CALIBRATIONS_H

#include <vector>

namespace fastk {

/// The texts of Calibrations/*.json, each written by fastk-worker --calibrate.
extern const std::vector<const char *> shippedCalibrations;

} // namespace fastk

#endif // FASTK_LIB_TARGET_CALIBRATIONS_H
