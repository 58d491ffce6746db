//===- SharedBuffer.cpp - Memory shared with a program --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedBuffer.h"
#include "Protocol.h"
#include "Values/Parallel.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

using namespace fastk::worker;

static constexpr size_t alignment = 64;
static constexpr size_t lineBytes = 64;

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static size_t roundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

SharedBuffer::SharedBuffer(SharedBuffer &&other) noexcept {
  *this = std::move(other);
}

SharedBuffer &SharedBuffer::operator=(SharedBuffer &&other) noexcept {
  std::swap(fd, other.fd);
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  std::swap(fileBytes, other.fileBytes);
  std::swap(offset, other.offset);
  std::swap(writable, other.writable);
  std::swap(canaryKey, other.canaryKey);
  std::swap(pattern, other.pattern);
  return *this;
}

SharedBuffer::~SharedBuffer() { release(); }

void SharedBuffer::release() {
  if (base)
    munmap(base, fileBytes);
  if (fd >= 0)
    close(fd);
  base = nullptr;
  fd = -1;
}

bool SharedBuffer::create(size_t size, bool programMayWrite,
                          std::string &error) {
  release();
  bytes = size;
  offset = 0;
  writable = programMayWrite;
  fileBytes = roundUp(size, pageSize);
  if (size == 0)
    return true;
  fd = memfd_create("fastk-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ftruncate(fd, off_t(fileBytes)) != 0) {
    error = "cannot create a buffer of " + std::to_string(size) +
            " bytes: " + std::strerror(errno);
    return false;
  }
  void *mapped =
      mmap(nullptr, fileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    error = "cannot map a buffer of " + std::to_string(size) +
            " bytes: " + std::strerror(errno);
    return false;
  }
  base = static_cast<char *>(mapped);
  // The mapping just made stays writable; later ones, of whoever holds the
  // descriptor, do not. Resizing would pull the pages from under the worker.
  int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (!programMayWrite)
    seals |= F_SEAL_FUTURE_WRITE;
  if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) {
    error = std::string("cannot seal a buffer: ") + std::strerror(errno) +
            "; the kernel must be 5.1 or newer";
    return false;
  }
  return true;
}

void SharedBuffer::place(Placement placement) {
  offset =
      placement == Placement::End ? fileBytes - roundUp(bytes, alignment) : 0;
}

/// Calls \p body with the bytes [begin, end) of a pattern, at most a line of 64
/// at a time, until it returns false.
template <typename Body>
static bool forPattern(Pattern pattern, uint64_t key, size_t begin, size_t end,
                       Body body) {
  while (begin < end) {
    uint64_t words[lineBytes / 8], number = begin / lineBytes;
    uint64_t line = patternLine(key, number);
    for (uint64_t k = 0; k < lineBytes / 8; ++k)
      words[k] = patternWord(pattern, line, number * (lineBytes / 8) + k);
    size_t skipped = begin % lineBytes;
    size_t count = std::min(lineBytes - skipped, end - begin);
    if (!body(begin, reinterpret_cast<const char *>(words) + skipped, count))
      return false;
    begin += count;
  }
  return true;
}

static void writePattern(char *data, Pattern pattern, uint64_t key,
                         size_t begin, size_t end) {
  forPattern(pattern, key, begin, end,
             [=](size_t at, const char *bytes, size_t count) {
               // Of a constant length it is no call.
               if (count == lineBytes)
                 std::memcpy(data + at, bytes, lineBytes);
               else
                 std::memcpy(data + at, bytes, count);
               return true;
             });
}

static bool hasPattern(const char *data, Pattern pattern, uint64_t key,
                       size_t begin, size_t end) {
  return forPattern(pattern, key, begin, end,
                    [=](size_t at, const char *bytes, size_t count) {
                      return std::memcmp(data + at, bytes, count) == 0;
                    });
}

void SharedBuffer::poison(Pattern with, uint64_t key) {
  if (!base)
    return;
  pattern = with;
  setCanaries(key);
  parallelFor(int64_t(bytes), int64_t(pageSize),
              [&](int64_t, int64_t begin, int64_t end) {
                writePattern(data(), pattern, ~canaryKey, size_t(begin),
                             size_t(end));
              });
}

bool SharedBuffer::isPoisoned(size_t begin, size_t count) const {
  return hasPattern(data(), pattern, ~canaryKey, begin, begin + count);
}

void SharedBuffer::setCanaries(uint64_t key) {
  if (!base)
    return;
  canaryKey = key;
  writePattern(base, Pattern::Canary, canaryKey, 0, offset);
  writePattern(base, Pattern::Canary, canaryKey, offset + bytes, fileBytes);
}

bool SharedBuffer::canariesAlive() const {
  return hasPattern(base, Pattern::Canary, canaryKey, 0, offset) &&
         (!base || hasPattern(base, Pattern::Canary, canaryKey, offset + bytes,
                              fileBytes));
}

void SharedBuffer::flush() const {
#if defined(__x86_64__)
  for (size_t i = 0; i < fileBytes; i += alignment)
    _mm_clflush(base + i);
  _mm_mfence();
#endif
}
