//===- ProgramImage.cpp - The bytes of a program --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramImage.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace fastk::worker;

ProgramImage::ProgramImage(ProgramImage &&other) noexcept {
  *this = std::move(other);
}

ProgramImage &ProgramImage::operator=(ProgramImage &&other) noexcept {
  std::swap(fd, other.fd);
  std::swap(digest, other.digest);
  return *this;
}

ProgramImage::~ProgramImage() {
  if (fd >= 0)
    close(fd);
}

bool ProgramImage::read(const std::string &path, std::string &error) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    if (file >= 0)
      close(file);
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    error = path + " is not a file; name a shared object";
    close(file);
    return false;
  }
  fd = memfd_create("fastk-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  digest = 0xcbf29ce484222325u;
  char chunk[65536];
  ssize_t got = 0;
  bool ok = fd >= 0;
  while (ok && (got = ::read(file, chunk, sizeof(chunk))) > 0) {
    for (ssize_t i = 0; i < got; ++i)
      digest = (digest ^ static_cast<unsigned char>(chunk[i])) * 0x100000001b3u;
    ok = write(fd, chunk, size_t(got)) == got;
  }
  close(file);
  if (!ok || got < 0) {
    error = "cannot copy " + path + ": " + std::strerror(errno);
    return false;
  }
  fcntl(fd, F_ADD_SEALS,
        F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return true;
}
