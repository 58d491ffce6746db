//===- CoreFiles.h - No core files while a key is held ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A key is not in one place only: the environment block holds it, so do the
// header lists and send buffers of libcurl and those of the TLS library. Memory
// of one's own could be left out of dumps (MADV_DONTDUMP), theirs could not, so
// the whole process leaves no core file as long as a key is held.
//
// The limit is 1 byte, not 0: where core files go to a program (core_pattern
// begins with '|') Linux ignores the limit, but for 1, which means none.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SECRETS_COREFILES_H
#define FASTK_SECRETS_COREFILES_H

namespace fastk {

/// While one of these lives, a crash leaves no core file, of this process or of
/// those that it starts. The last one restores what the user had.
class NoCoreFiles {
public:
  NoCoreFiles();
  NoCoreFiles(const NoCoreFiles &) = delete;
  NoCoreFiles &operator=(const NoCoreFiles &) = delete;
  ~NoCoreFiles();
};

} // namespace fastk

#endif // FASTK_SECRETS_COREFILES_H
