//===- CompileCache.cpp - Compile results by content ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CompileCache.h"
#include "Bytes.h"
#include "Sha256.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/System/WholeFile.h"
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;
using namespace fastk::cuda;

/// Changes with the options of Nvrtc::compile, the checks of CheckDeviceCode
/// and the layout of the files.
static constexpr uint64_t kFormat = 2;

static std::string defaultFolder() {
  std::string folder = fastk::userCacheFolder();
  return folder.empty() ? folder : folder + "/nvrtc";
}

CompileCache::CompileCache() : CompileCache(defaultFolder()) {}
CompileCache::CompileCache(std::string folder, uint64_t largestBytes)
    : where(std::move(folder)), largestBytes(largestBytes) {}

std::string CompileCache::key(const CompileRequest &request,
                              const Headers &toolkitHeaders,
                              const std::string &nvrtcVersion) {
  ByteWriter all;
  all.number(kFormat);
  all.text(nvrtcVersion);
  all.text(toBytes(request));
  all.text(request.prelude ? preludeText() : "");
  all.number(toolkitHeaders.size());
  for (const auto &[name, text] : toolkitHeaders) {
    all.text(name);
    all.text(text);
  }
  return sha256(all.bytes);
}

std::string CompileCache::key(std::string_view everything) {
  ByteWriter all;
  all.number(kFormat);
  all.text(everything);
  return sha256(all.bytes);
}

std::optional<CompileResult> CompileCache::find(const std::string &key) const {
  if (where.empty())
    return std::nullopt;
  std::string path = where + "/" + key;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::string text = bytes.str();
  // The checksum in front: a file that was cut off or changed is a miss.
  CompileResult result;
  if (text.size() < 64 ||
      text.compare(0, 64, sha256(std::string_view(text).substr(64))) != 0 ||
      !fromBytes(std::string_view(text).substr(64), result))
    return std::nullopt;
  result.fromCache = true;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return result;
}

void CompileCache::store(const std::string &key,
                         const CompileResult &result) const {
  if (where.empty())
    return;
  std::error_code error;
  fs::create_directories(where, error);
  std::string bytes = toBytes(result);
  // Failure is no error: what is not found is compiled again.
  (void)fastk::writeWholeFile(where + "/" + key, sha256(bytes) + bytes);
  // Looking at the whole folder every time would cost more than it saves.
  static std::atomic<unsigned> stores;
  if (stores++ % 64 == 0)
    prune();
}

void CompileCache::prune() const {
  struct Entry {
    fs::path path;
    uint64_t bytes;
    fs::file_time_type used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(where, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    Entry entry = {at->path(), at->file_size(gone), at->last_write_time(gone)};
    if (gone)
      continue;
    total += entry.bytes;
    entries.push_back(entry);
  }
  if (total <= largestBytes)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= largestBytes / 4 * 3)
      break;
    if (fs::remove(entry.path, error))
      total -= entry.bytes;
  }
}

CompileResult fastk::cuda::compileCached(const CompileRequest &request,
                                         const CompileLimits &limits) {
  CompileResult result;
  const Nvrtc *nvrtc = Nvrtc::get(result.error);
  if (!nvrtc)
    return result;
  static const Headers headers = readToolkitHeaders(nvrtc->toolkit().include);
  CompileCache cache;
  std::string key = CompileCache::key(request, headers, nvrtc->version());
  if (std::optional<CompileResult> known = cache.find(key))
    return *known;
  result = compileInChild(request, limits);
  // What the compiler or the checks said will be said again; that it hung or
  // was killed may have been the machine's fault.
  if (result.ok() || !result.log.empty() || !result.ptx.empty())
    cache.store(key, result);
  return result;
}
