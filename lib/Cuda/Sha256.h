//===- Sha256.h - SHA-256 without LLVM --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_SHA256_H
#define FASTK_LIB_CUDA_SHA256_H

#include <string>
#include <string_view>

namespace fastk::cuda {

/// FIPS 180-4, as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_SHA256_H
