//===- CompileCache.h - Compile results by content --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file a result, named by the SHA-256 of all that decides it: source,
// options, headers, prelude, NVRTC's version, this format. Files are written
// whole or not at all, and a file that does not read is a miss, so any number
// of processes share a folder.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_COMPILECACHE_H
#define FASTK_CUDA_COMPILECACHE_H

#include "fastk/Cuda/Nvrtc.h"
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastk::cuda {

class CompileCache {
public:
  /// In $FASTK_CACHE_DIR, $XDG_CACHE_HOME/fastk or ~/.cache/fastk, under
  /// "nvrtc". A cache without a folder never hits.
  CompileCache();
  explicit CompileCache(std::string folder, uint64_t largestBytes = uint64_t(1)
                                                                    << 30);

  /// \p toolkitHeaders and \p nvrtcVersion are of the compiler in use.
  static std::string key(const CompileRequest &request,
                         const Headers &toolkitHeaders,
                         const std::string &nvrtcVersion);
  /// Of anything else that a result follows from.
  static std::string key(std::string_view everything);

  std::optional<CompileResult> find(const std::string &key) const;
  /// Failing to write is no error. Now and then the least recently used files
  /// go, until the folder is below three quarters of its bound.
  void store(const std::string &key, const CompileResult &result) const;

  const std::string &folder() const { return where; }

private:
  void prune() const;
  std::string where;
  uint64_t largestBytes;
};

} // namespace fastk::cuda

#endif // FASTK_CUDA_COMPILECACHE_H
