//===- SpawnChildTest.cpp - How a child begins ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Sandbox/SpawnChild.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::sandbox;

namespace {

/// Runs a shell script as a child that is given two files, and keeps what it
/// wrote to them.
class SpawnChild : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/fastk-spawn-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    for (const char *name : {"/script", "/first", "/second"})
      unlink((folder + name).c_str());
    rmdir(folder.c_str());
  }

  int openFile(const char *name) {
    return open((folder + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  }

  std::string textOf(const char *name) {
    std::ifstream file(folder + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  /// Returns the exit code, or -1.
  int run(const std::string &script, SpawnOptions options) {
    std::ofstream(folder + "/script") << script;
    options.program = "/bin/sh";
    options.name = "sh";
    options.flag = folder + "/script";
    pid_t pid = spawnChild(options);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
      return -1;
    return WEXITSTATUS(status);
  }

  std::string folder;
};

TEST_F(SpawnChild, HasTheDescriptorsItIsGivenAndNoOther) {
  int first = openFile("/first"), second = openFile("/second");
  // One that may not go over.
  int secret = open("/dev/null", O_RDONLY);
  EXPECT_EQ(run("for fd in 0 1 2 3 4 5 6 7 8 9; do\n"
                "  [ -e /proc/$$/fd/$fd ] && echo $fd >&3\n"
                "done\n"
                "echo second >&4\n",
                {"", "", "", std::nullopt, {first, second}}),
            0);
  close(secret);
  close(first);
  close(second);
  EXPECT_EQ(textOf("/first"), "0\n1\n2\n3\n4\n");
  EXPECT_EQ(textOf("/second"), "second\n");
}

TEST_F(SpawnChild, TakesDescriptorsThatLieWhereOthersGo) {
  // 3 and 4 here, 4 and 3 there.
  int kept[2] = {fcntl(3, F_DUPFD_CLOEXEC, 100),
                 fcntl(4, F_DUPFD_CLOEXEC, 100)};
  int first = openFile("/first"), second = openFile("/second");
  int high[2] = {fcntl(first, F_DUPFD_CLOEXEC, 100),
                 fcntl(second, F_DUPFD_CLOEXEC, 100)};
  ASSERT_EQ(dup3(high[0], 4, O_CLOEXEC), 4);
  ASSERT_EQ(dup3(high[1], 3, O_CLOEXEC), 3);
  EXPECT_EQ(run("echo first >&3; echo second >&4\n",
                {"", "", "", std::nullopt, {4, 3}}),
            0);
  for (int fd : {3, 4}) {
    close(fd);
    if (kept[fd - 3] >= 0) {
      dup2(kept[fd - 3], fd);
      close(kept[fd - 3]);
    }
  }
  for (int fd : {first, second, high[0], high[1]})
    if (fd > 4)
      close(fd);
  EXPECT_EQ(textOf("/first"), "first\n");
  EXPECT_EQ(textOf("/second"), "second\n");
}

TEST_F(SpawnChild, HasTheEnvironmentItIsGivenOrOurs) {
  setenv("FASTK_SPAWN_TEST", "ours", 1);
  std::string script = "[ \"$FASTK_SPAWN_TEST\" = ours ] && exit 3\n"
                       "[ \"$FASTK_SPAWN_TEST\" = given ] && exit 4\n"
                       "exit 5\n";
  using Variables = std::vector<std::string>;
  EXPECT_EQ(run(script, {}), 3);
  EXPECT_EQ(run(script, {"", "", "", Variables{"FASTK_SPAWN_TEST=given"}, {}}),
            4);
  EXPECT_EQ(run(script, {"", "", "", Variables(), {}}), 5);
  unsetenv("FASTK_SPAWN_TEST");
}

TEST_F(SpawnChild, BlocksAndHandlesNoSignalAndLeadsAGroup) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(
      run("grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status || exit 6\n"
          "read pid name state parent group rest < /proc/$$/stat\n"
          "[ \"$group\" = $$ ] || exit 7\n",
          {}),
      0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(SpawnChild, SaysWhyItDidNotStart) {
  EXPECT_EQ(spawnChild({folder + "/none", "none", "", std::nullopt, {}}), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(spawnChild({"/bin/sh", "sh", "", std::nullopt, {-1}}), -1);
  EXPECT_EQ(errno, EBADF);
}

} // namespace
