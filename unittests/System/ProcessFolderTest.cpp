//===- ProcessFolderTest.cpp - What goes with its process -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/ProcessFolder.h"
#include "fastk/System/EndingSignals.h"
#include "gtest/gtest.h"
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
namespace fs = std::filesystem;

namespace {

/// A folder to look into, where a child makes its own.
struct ProcessFolderTest : testing::Test {
  void SetUp() override { ASSERT_FALSE(place.create("fastk-test")); }

  /// The status of a child that makes a folder with something in it and goes
  /// on with `then`.
  int inChild(const std::function<void()> &then) const {
    pid_t child = fork();
    if (child == 0) {
      // Whatever runs the test ignores.
      for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE})
        std::signal(signal, SIG_DFL);
      ProcessFolder folder;
      if (folder.create("child", place.path()))
        _exit(99);
      fs::create_directories(folder.file("a/b/c"));
      for (int i = 0; i < 100; ++i)
        std::ofstream(folder.file("a/" + std::to_string(i))) << "x";
      fs::create_symlink(place.file("kept"), folder.file("a/link"));
      then();
      _exit(98);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  size_t countLeft() const {
    fs::directory_iterator left(place.path());
    return size_t(std::distance(begin(left), end(left)));
  }

  ProcessFolder place;
};

TEST_F(ProcessFolderTest, GoesWithItsObject) {
  {
    ProcessFolder folder, other;
    ASSERT_FALSE(folder.create("x", place.path()));
    std::ofstream(folder.file("file")) << "x";
    EXPECT_EQ(countLeft(), 1u);
    other = std::move(folder);
    EXPECT_TRUE(fs::exists(other.file("file")));
  }
  EXPECT_EQ(countLeft(), 0u);
}

TEST_F(ProcessFolderTest, GoesWithASignal) {
  std::ofstream(place.file("kept")) << "x";
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    int status = inChild([&] {
      watchEndingSignals();
      raise(signal);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal);
    // What a link in it names is not in it.
    EXPECT_EQ(countLeft(), 1u) << strsignal(signal);
    EXPECT_TRUE(fs::exists(place.file("kept")));
  }
}

TEST_F(ProcessFolderTest, GoesWithAnExitOnTheWay) {
  int status = inChild([] {
    watchEndingSignals();
    exit(3);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(countLeft(), 0u);
}

TEST_F(ProcessFolderTest, StaysWhereTheSignalIsIgnored) {
  int status = inChild([&] {
    std::signal(SIGHUP, SIG_IGN);
    watchEndingSignals();
    // As LLVM's handlers come.
    std::signal(SIGHUP, SIG_DFL);
    keepIgnoredSignals();
    raise(SIGHUP);
    _exit(countLeft() == 1 && endingSignals() == std::vector{SIGINT, SIGTERM}
              ? 0
              : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ProcessFolderTest, IsLeftAloneByWhatItsProcessForks) {
  int status = inChild([&] {
    watchEndingSignals();
    pid_t forked = fork();
    if (forked == 0)
      raise(SIGTERM);
    int ended = 0;
    waitpid(forked, &ended, 0);
    _exit(WIFSIGNALED(ended) && countLeft() == 1 ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ProcessFolderTest, ErrorsNameThePlaceAndTheRemedy) {
  ProcessFolder folder;
  EXPECT_EQ(folder.create("x", place.file("none")),
            std::errc::no_such_file_or_directory);
  setenv("TMPDIR", "/some/place", 1);
  EXPECT_EQ(explainTemporaryFileError({ENOSPC, std::generic_category()}),
            "cannot write temporary files in /some/place: No space left on "
            "device; free some space there, or set TMPDIR to another folder");
  EXPECT_EQ(explainTemporaryFileError(folder.create("x")),
            "cannot write temporary files in /some/place: No such file or "
            "directory; set TMPDIR to a folder that you may write to");
  unsetenv("TMPDIR");
}

} // namespace
