//===- CompileCacheTest.cpp - Compile results by content ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CompileCache.h"
#include "CudaTest.h"
#include "Sha256.h"
#include "fastk/Cuda/CompileInChild.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace fastk::cuda;

namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "fastk-cache-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  std::string path;
};

CompileResult someResult() {
  CompileResult result;
  result.cubin = std::string("\x7f"
                             "ELF\0binary",
                             11);
  result.ptx = ".version 9.0";
  result.log = "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
               "ptxas info    : Used 12 registers\n";
  result.nvrtcVersion = "13.0";
  result.milliseconds = 12.5;
  return result;
}

// FIPS 180-4's examples, and lengths around a block.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::set<std::string> different;
  for (size_t length = 0; length < 200; ++length)
    different.insert(sha256(std::string(length, 'x')));
  EXPECT_EQ(different.size(), 200u);
}

TEST(CompileCacheTest, WhatWasStoredIsFound) {
  TemporaryFolder folder;
  CompileCache cache(folder.path + "/new/nvrtc");
  EXPECT_FALSE(cache.find("a"));
  cache.store("a", someResult());
  std::optional<CompileResult> found = cache.find("a");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->fromCache);
  EXPECT_EQ(found->cubin, someResult().cubin);
  EXPECT_EQ(found->ptx, someResult().ptx);
  EXPECT_EQ(found->milliseconds, 12.5);
  ASSERT_TRUE(found->kernel("k"));
  EXPECT_EQ(found->kernel("k")->registers, 12u);
  EXPECT_FALSE(cache.find("b"));
}

TEST(CompileCacheTest, DamagedFilesAreMisses) {
  TemporaryFolder folder;
  CompileCache cache(folder.path);
  cache.store("a", someResult());
  std::string path = folder.path + "/a", text;
  {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (size_t cut : {size_t(0), size_t(10), size_t(64), text.size() - 1}) {
    std::ofstream(path, std::ios::binary) << text.substr(0, cut);
    EXPECT_FALSE(cache.find("a")) << cut;
  }
  for (size_t at : {size_t(3), size_t(70), text.size() - 2}) {
    std::string changed = text;
    changed[at] ^= 1;
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_FALSE(cache.find("a")) << at;
  }
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_TRUE(cache.find("a"));
}

TEST(CompileCacheTest, SizeIsBoundedAndRecentlyUsedFilesStay) {
  TemporaryFolder folder;
  CompileResult large = someResult();
  large.cubin.assign(10000, 'c');
  CompileCache cache(folder.path, 1000000);
  auto total = [&] {
    uint64_t bytes = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder.path))
      bytes += entry.file_size();
    return bytes;
  };
  cache.store("kept", large);
  for (int i = 0; i < 400; ++i) {
    cache.store("k" + std::to_string(i), large);
    // Used again and again: never the oldest.
    ASSERT_TRUE(cache.find("kept")) << i;
  }
  // Pruned at every 64th store: the bound and what 64 stores add to it.
  EXPECT_LT(total(), 1000000u + 64 * 10400);
  EXPECT_TRUE(cache.find("k399"));
  EXPECT_FALSE(cache.find("k0"));
}

TEST(CompileCacheTest, UnwritableFoldersAreNoError) {
  CompileCache cache("/proc/nowhere");
  cache.store("a", someResult());
  EXPECT_FALSE(cache.find("a"));
  EXPECT_FALSE(CompileCache("").find("a"));
}

TEST(CompileCacheTest, TheKeyHoldsAllThatDecides) {
  CompileRequest request;
  request.source = "x";
  Headers headers = {{"a.h", "1"}};
  std::set<std::string> keys;
  auto add = [&](auto change) {
    CompileRequest other = request;
    change(other);
    keys.insert(CompileCache::key(other, headers, "13.0"));
  };
  add([](CompileRequest &) {});
  add([](CompileRequest &) {}); // The same again.
  EXPECT_EQ(keys.size(), 1u);
  add([](CompileRequest &r) { r.source = "y"; });
  add([](CompileRequest &r) { r.arch = "sm_80"; });
  add([](CompileRequest &r) { r.defines = {{"A", "1"}}; });
  add([](CompileRequest &r) { r.defines = {{"A1", ""}}; });
  add([](CompileRequest &r) { r.prelude = false; });
  add([](CompileRequest &r) { r.fastMath = true; });
  add([](CompileRequest &r) { r.maxRegisters = 1; });
  add([](CompileRequest &r) { r.headers = {{"b.h", ""}}; });
  keys.insert(CompileCache::key(request, headers, "13.1"));
  keys.insert(CompileCache::key(request, {{"a.h", "2"}}, "13.0"));
  EXPECT_EQ(keys.size(), 11u);
}

NVRTC_TEST(CompileCacheNvrtc, TheSecondTimeIsFromTheCache) {
  TemporaryFolder folder;
  setenv("FASTK_CACHE_DIR", folder.path.c_str(), 1);
  CompileRequest request;
  request.source = "extern \"C\" __global__ void k(int *x) { x[0] = 7; }";
  CompileResult first = compileCached(request), second = compileCached(request);
  EXPECT_TRUE(first.ok()) << first.error;
  EXPECT_FALSE(first.fromCache);
  EXPECT_TRUE(second.fromCache);
  EXPECT_EQ(first.cubin, second.cubin);
  // Errors and refusals, too: they are the source's.
  request.source = "__device__ int n;\n"
                   "extern \"C\" __global__ void k(int *x) { x[0] = n++; }";
  first = compileCached(request);
  second = compileCached(request);
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(second.fromCache);
  EXPECT_EQ(first.error, second.error);
  EXPECT_TRUE(second.cubin.empty());
  unsetenv("FASTK_CACHE_DIR");
}

} // namespace
