//===- SharedBuffer.h - Memory shared with a program ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor or a workspace in a memory file. The worker maps it for writing; a
// program gets the descriptor, sealed against resizing and, for inputs, against
// writing. What is left of the last page around the tensor holds canaries.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_SHAREDBUFFER_H
#define FASTK_LIB_WORKER_HOST_SHAREDBUFFER_H

#include "../Device.h"
#include "Values/Patterns.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace fastk::worker {

class SharedBuffer {
public:
  SharedBuffer() = default;
  SharedBuffer(SharedBuffer &&other) noexcept;
  SharedBuffer &operator=(SharedBuffer &&other) noexcept;
  ~SharedBuffer();

  /// Allocates \p bytes. Empty buffers have no file and a null pointer.
  bool create(size_t bytes, bool programMayWrite, std::string &error);

  /// Where the tensor lies from now on. Contents are lost.
  void place(Placement placement);

  /// Fills the tensor with a pattern and everything around it with canaries.
  void poison(Pattern pattern, uint64_t key);
  /// Whether these bytes of the tensor are as the last poison() left them.
  bool isPoisoned(size_t begin, size_t bytes) const;
  /// Whether the canaries are all alive.
  bool canariesAlive() const;
  /// Writes the canaries only.
  void setCanaries(uint64_t key);

  /// Evicts the tensor from all caches.
  void flush() const;

  char *data() { return base + offset; }
  const char *data() const { return base + offset; }
  /// For who holds contents that change and come back within one step.
  char *mutableData() const { return base + offset; }
  size_t size() const { return bytes; }
  int descriptor() const { return fd; }
  size_t fileSize() const { return fileBytes; }
  size_t fileOffset() const { return offset; }
  bool isWritable() const { return writable; }

private:
  void release();

  int fd = -1;
  char *base = nullptr;
  size_t bytes = 0;
  size_t fileBytes = 0;
  size_t offset = 0;
  bool writable = false;
  /// Of the canaries; poison has its complement.
  uint64_t canaryKey = 0;
  Pattern pattern = Pattern::Poison;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_SHAREDBUFFER_H
