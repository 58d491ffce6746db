//===- WholeFolderTest.cpp - Folders that are whole or not there ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/WholeFolder.h"
#include "fastk/System/ProcessFolder.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>

using namespace fastk;
namespace fs = std::filesystem;

namespace {

struct WholeFolder : testing::Test {
  void SetUp() override { ASSERT_FALSE(folder.create("fastk-test")); }

  /// A folder with a file, written so many hours ago.
  std::string make(const std::string &name, int hours = 0) {
    std::string path = folder.file(name);
    fs::create_directory(path);
    std::ofstream(path + "/" + name) << name;
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::hours(hours));
    return path;
  }
  bool isThere(const std::string &name) {
    return fs::exists(fs::symlink_status(folder.file(name)));
  }

  ProcessFolder folder;
};

TEST_F(WholeFolder, WhatIsThereIsExchanged) {
  std::string fresh = make("fresh"), place = folder.file("place");
  EXPECT_FALSE(placeFolder(fresh, place));
  EXPECT_TRUE(isThere("place/fresh"));
  EXPECT_FALSE(isThere("fresh"));
  EXPECT_FALSE(placeFolder(make("next"), place));
  EXPECT_TRUE(isThere("place/next"));
  EXPECT_TRUE(isThere("next/fresh"));
  std::error_code code = placeFolder(folder.file("none"), place);
  EXPECT_EQ(code, std::errc::no_such_file_or_directory);
  EXPECT_FALSE(cannotExchange(code));
  EXPECT_TRUE(isThere("place/next"));
}

TEST_F(WholeFolder, OldDebrisIsRemovedAndNothingElse) {
  make(".tmp-old", 2);
  make(".tmp-young");
  // Of a machine whose clock is ahead.
  make(".tmp-future", -2);
  make("mine", 2);
  std::ofstream(folder.file(".tmp-file")) << "mine";
  fs::create_directory_symlink(folder.file("mine"), folder.file(".tmp-link"));
  fs::create_directory_symlink(folder.file("mine"),
                               folder.file(".tmp-old/link"));
  fs::last_write_time(folder.file(".tmp-old"),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  removeDebris(folder.path(), ".tmp-");
  EXPECT_FALSE(isThere(".tmp-old"));
  for (const char *each :
       {".tmp-young", ".tmp-future", "mine/mine", ".tmp-file", ".tmp-link"})
    EXPECT_TRUE(isThere(each)) << each;
}

} // namespace
