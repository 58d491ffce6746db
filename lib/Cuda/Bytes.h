//===- Bytes.h - Requests and results as bytes ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a process and its child, and in cache files: the same program on both
// sides, so there is no version but the cache's. What is read may be hostile or
// cut off: a reader that runs out of bytes fails for good.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_BYTES_H
#define FASTK_LIB_CUDA_BYTES_H

#include "fastk/Cuda/Nvrtc.h"
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fastk::cuda {

class ByteWriter {
public:
  void number(uint64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  std::string bytes;
};

class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    if (rest.size() < sizeof(value)) {
      broken = true;
      return 0;
    }
    std::memcpy(&value, rest.data(), sizeof(value));
    rest.remove_prefix(sizeof(value));
    return value;
  }
  std::string text() {
    uint64_t size = number();
    if (broken || size > rest.size()) {
      broken = true;
      return "";
    }
    std::string value(rest.substr(0, size));
    rest.remove_prefix(size);
    return value;
  }
  /// How many entries follow; none can be shorter than \p least bytes.
  uint64_t count(uint64_t least) {
    uint64_t value = number();
    if (value > rest.size() / least)
      broken = true;
    return broken ? 0 : value;
  }
  /// Whether everything was there, and nothing else.
  bool complete() const { return !broken && rest.empty(); }

private:
  std::string_view rest;
  bool broken = false;
};

/// All but `fromCache`. Facts and warnings are parsed out of the log again.
std::string toBytes(const CompileResult &result);
bool fromBytes(std::string_view bytes, CompileResult &result);

std::string toBytes(const CompileRequest &request);
bool fromBytes(std::string_view bytes, CompileRequest &request);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_BYTES_H
