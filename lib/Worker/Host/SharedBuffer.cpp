//===- SharedBuffer.cpp - Memory shared with a program --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedBuffer.h"
#include "../Parallel.h"
#include "Protocol.h"
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
static constexpr unsigned char canary = 0xCA;

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

void SharedBuffer::poison(unsigned char byte) {
  if (!base)
    return;
  parallelFor(int64_t(bytes), int64_t(pageSize),
              [&](int64_t, int64_t begin, int64_t end) {
                std::memset(data() + begin, byte, size_t(end - begin));
              });
  setCanaries();
}

void SharedBuffer::setCanaries() {
  if (!base)
    return;
  std::memset(base, canary, offset);
  std::memset(data() + bytes, canary, fileBytes - offset - bytes);
}

bool SharedBuffer::canariesAlive() const {
  for (size_t i = 0; i < offset; ++i)
    if (static_cast<unsigned char>(base[i]) != canary)
      return false;
  for (size_t i = offset + bytes; i < fileBytes; ++i)
    if (static_cast<unsigned char>(base[i]) != canary)
      return false;
  return true;
}

void SharedBuffer::flush() const {
#if defined(__x86_64__)
  for (size_t i = 0; i < fileBytes; i += alignment)
    _mm_clflush(base + i);
  _mm_mfence();
#endif
}
