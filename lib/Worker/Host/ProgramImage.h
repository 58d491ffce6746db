//===- ProgramImage.h - The bytes of a program ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_PROGRAMIMAGE_H
#define FASTK_LIB_WORKER_HOST_PROGRAMIMAGE_H

#include <cstdint>
#include <string>

namespace fastk::worker {

/// A shared object, read once: what is validated is what is timed, whatever
/// happens to the file.
class ProgramImage {
public:
  ProgramImage() = default;
  ProgramImage(ProgramImage &&other) noexcept;
  ProgramImage &operator=(ProgramImage &&other) noexcept;
  ~ProgramImage();

  bool read(const std::string &path, std::string &error);
  int descriptor() const { return fd; }
  /// FNV-1a of the bytes.
  uint64_t hash() const { return digest; }

private:
  int fd = -1;
  uint64_t digest = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_PROGRAMIMAGE_H
