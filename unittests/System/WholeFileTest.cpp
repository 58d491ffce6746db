//===- WholeFileTest.cpp - Files that are whole or not there --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/WholeFile.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace fastk;
namespace fs = std::filesystem;

namespace {

class WholeFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "fastk-whole-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  /// Everything in the folder: nothing may be left beside a file.
  size_t count() {
    return size_t(std::distance(fs::directory_iterator(folder), {}));
  }

  std::string folder;
};

TEST_F(WholeFile, IsCreatedAndReplaced) {
  std::string path = folder + "/file", binary("a\0b", 3);
  for (bool flush : {false, true}) {
    EXPECT_FALSE(writeWholeFile(path, binary, flush));
    EXPECT_EQ(read(path), binary);
    EXPECT_FALSE(writeWholeFile(path, "", flush));
    EXPECT_EQ(read(path), "");
  }
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFile, SaysWhyItCannotBeWritten) {
  EXPECT_EQ(writeWholeFile(folder + "/none/file", "x").value(), ENOENT);
  fs::create_directories(folder + "/taken/inside");
  EXPECT_EQ(writeWholeFile(folder + "/taken", "x").value(), EISDIR);
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFile, KeepsTheOldOneWhenTheNewOneDoesNotFit) {
  std::string path = folder + "/file";
  ASSERT_FALSE(writeWholeFile(path, "old"));
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = {4096, before.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::error_code error = writeWholeFile(path, std::string(100000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.value(), EFBIG);
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFile, IsOneOfThoseThatManyWrite) {
  std::string path = folder + "/file";
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c', 'd'})
    threads.emplace_back([&, c] {
      for (int i = 0; i < 50; ++i)
        EXPECT_FALSE(writeWholeFile(path, std::string(20000, c)));
    });
  for (int i = 0; i < 200; ++i)
    if (std::string text = read(path); !text.empty()) {
      EXPECT_EQ(text.size(), 20000u);
      EXPECT_EQ(size_t(std::count(text.begin(), text.end(), text[0])), 20000u);
    }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(count(), 1u);
}

TEST(CacheFolder, ComesFromTheEnvironment) {
  std::vector<std::pair<const char *, std::string>> before;
  for (const char *name : {"FASTK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
    const char *value = std::getenv(name);
    before.emplace_back(name, value ? value : "");
  }
  setenv("FASTK_CACHE_DIR", "/own", 1);
  setenv("XDG_CACHE_HOME", "/cache", 1);
  setenv("HOME", "/home/u", 1);
  EXPECT_EQ(userCacheFolder(), "/own");
  setenv("FASTK_CACHE_DIR", "", 1);
  EXPECT_EQ(userCacheFolder(), "/cache/fastk");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(userCacheFolder(), "/home/u/.cache/fastk");
  unsetenv("HOME");
  EXPECT_EQ(userCacheFolder(), "");
  for (const auto &[name, value] : before)
    if (!value.empty())
      setenv(name, value.c_str(), 1);
    else
      unsetenv(name);
}

} // namespace
