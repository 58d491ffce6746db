//===- OutputPlaceTest.cpp - Where a file that a user names goes ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/System/ProcessFolder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace fastk;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

namespace {

struct OutputPlace : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(folder.create("fastk-test"));
    fs::create_directory(folder.file("there"));
    std::ofstream(folder.file("there/file")) << "old";
  }

  static std::string read(const std::string &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  /// Files below the folder, links and folders left out.
  size_t countFiles() const {
    size_t count = 0;
    for (const fs::directory_entry &entry :
         fs::recursive_directory_iterator(folder.path()))
      count += entry.is_regular_file() && !entry.is_symlink();
    return count;
  }

  ProcessFolder folder;
};

TEST_F(OutputPlace, IsTheSameWhateverItIsCalled) {
  std::string file = folder.file("there/file");
  fs::create_directory_symlink("there", folder.file("folder"));
  fs::create_symlink("there/file", folder.file("link"));
  EXPECT_TRUE(isSamePlace(file, folder.file("folder/file")));
  EXPECT_TRUE(isSamePlace(file, folder.file("link")));
  EXPECT_TRUE(isSamePlace(file, folder.file("there/../there/file")));
  // Neither has to be there.
  EXPECT_TRUE(isSamePlace(folder.file("there/new"), folder.file("folder/new")));
  EXPECT_TRUE(isSamePlace("new", "./new"));
  EXPECT_FALSE(isSamePlace(file, folder.file("there/new")));
  EXPECT_FALSE(isSamePlace("/dev/null", "/dev/null"));
  EXPECT_FALSE(isSamePlace("", ""));
  EXPECT_FALSE(isSamePlace("-", "-"));
}

TEST_F(OutputPlace, IsWhatLinksName) {
  EXPECT_EQ(outputPlace("none"), "none");
  EXPECT_EQ(outputPlace(folder.file("there/file")), folder.file("there/file"));
  // From where the link is, and not from where we are.
  fs::create_symlink("there/file", folder.file("relative"));
  EXPECT_EQ(outputPlace(folder.file("relative")), folder.file("there/file"));
  fs::create_symlink("../relative", folder.file("there/chain"));
  EXPECT_TRUE(fs::equivalent(outputPlace(folder.file("there/chain")),
                             folder.file("there/file")));
  fs::create_symlink(folder.file("new"), folder.file("dangling"));
  EXPECT_EQ(outputPlace(folder.file("dangling")), folder.file("new"));
}

TEST_F(OutputPlace, IsTheNameWhereThereIsNoPlace) {
  fs::create_symlink("circle", folder.file("circle"));
  EXPECT_EQ(outputPlace(folder.file("circle")), folder.file("circle"));
  // An open file, which may have another name by now, or none.
  EXPECT_EQ(outputPlace("/dev/stdout"), "/dev/stdout");
  fs::create_symlink("/proc/self/fd", folder.file("fd"));
  fs::create_symlink("fd/1", folder.file("stdout"));
  EXPECT_EQ(outputPlace(folder.file("stdout")), folder.file("stdout"));
}

TEST_F(OutputPlace, LinksStay) {
  fs::create_symlink("there/file", folder.file("link"));
  fs::create_symlink("new", folder.file("dangling"));
  for (const char *name : {"link", "dangling"}) {
    EXPECT_EQ(llvm::toString(writeOutput(folder.file(name), "text")), "");
    EXPECT_TRUE(fs::is_symlink(folder.file(name)));
    EXPECT_EQ(read(folder.file(name)), "text");
  }
  EXPECT_EQ(read(folder.file("there/file")), "text");
  EXPECT_EQ(countFiles(), 2u);
}

// As /dev/stdout does: a rename would put a file in the place of the link.
TEST_F(OutputPlace, WhatIsNoFileIsWrittenAsItIs) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string open = "/proc/self/fd/" + std::to_string(ends[1]);
  fs::create_symlink(open, folder.file("pipe"));
  EXPECT_EQ(llvm::toString(writeOutput(folder.file("pipe"), "text")), "");
  EXPECT_TRUE(fs::is_symlink(folder.file("pipe")));
  EXPECT_EQ(llvm::toString(writeOutput("/dev/null", "text")), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  char text[16] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(OutputPlace, TheFolderOfTheFileDecides) {
  fs::create_symlink("none/file", folder.file("link"));
  std::string link = folder.file("link");
  EXPECT_THAT(llvm::toString(checkWritable(link)),
              StartsWith(link + ": cannot write: No such file"));
  EXPECT_THAT(llvm::toString(writeOutput(link, "text")),
              StartsWith(link + ": cannot create: No such file"));
}

// A limit on file sizes fails a write half-way, as a full disk does; root is
// not exempt.
TEST_F(OutputPlace, AFullDiskNamesWhatTheUserNamed) {
  std::signal(SIGXFSZ, SIG_IGN);
  fs::create_symlink("there/file", folder.file("link"));
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = {4, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string plain = llvm::toString(
      writeFileAtomically(folder.file("there/file"), "too much"));
  std::string linked =
      llvm::toString(writeOutput(folder.file("link"), "too much"));
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(plain, StartsWith(folder.file("there/file") + ": cannot write"));
  EXPECT_THAT(linked, StartsWith(folder.file("link") + ": cannot write"));
  EXPECT_THAT(linked, HasSubstr("ulimit -f"));
  EXPECT_THAT(plain + linked, Not(HasSubstr(".tmp")));
  EXPECT_EQ(read(folder.file("there/file")), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputPlace, NamesAreExchangedInErrors) {
  auto error = [] { return fileError("/a/b.tmp", "write", ENOSPC); };
  EXPECT_THAT(llvm::toString(nameInstead(error(), "/a/b.tmp", "/a/b")),
              StartsWith("/a/b: cannot write"));
  EXPECT_EQ(llvm::errorToErrorCode(nameInstead(error(), "/a/b.tmp", "/a/b")),
            std::errc::no_space_on_device);
  EXPECT_FALSE(nameInstead(llvm::Error::success(), "a", "b"));
}

} // namespace
