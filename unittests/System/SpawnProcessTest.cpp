//===- SpawnProcessTest.cpp - How every child process begins --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;

namespace {

/// Runs a shell script as a child that is given two files, and keeps what it
/// wrote to them.
class SpawnProcess : public testing::Test {
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
    options.arguments = {"sh", folder + "/script"};
    pid_t pid = spawnProcess(options);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
      return -1;
    return WEXITSTATUS(status);
  }

  std::string folder;
};

TEST_F(SpawnProcess, HasTheDescriptorsItIsGivenAndNoOther) {
  int first = openFile("/first"), second = openFile("/second");
  // One that may not go over.
  int secret = open("/dev/null", O_RDONLY);
  EXPECT_EQ(run("for fd in 0 1 2 3 4 5 6 7 8 9; do\n"
                "  [ -e /proc/$$/fd/$fd ] && echo $fd >&3\n"
                "done\n"
                "echo second >&4\n",
                {"", {}, std::nullopt, {first, second}}),
            0);
  close(secret);
  close(first);
  close(second);
  EXPECT_EQ(textOf("/first"), "0\n1\n2\n3\n4\n");
  EXPECT_EQ(textOf("/second"), "second\n");
}

TEST_F(SpawnProcess, TakesDescriptorsThatLieWhereOthersGo) {
  // 3 and 4 here, 4 and 3 there.
  int kept[2] = {fcntl(3, F_DUPFD_CLOEXEC, 100),
                 fcntl(4, F_DUPFD_CLOEXEC, 100)};
  int first = openFile("/first"), second = openFile("/second");
  int high[2] = {fcntl(first, F_DUPFD_CLOEXEC, 100),
                 fcntl(second, F_DUPFD_CLOEXEC, 100)};
  ASSERT_EQ(dup3(high[0], 4, O_CLOEXEC), 4);
  ASSERT_EQ(dup3(high[1], 3, O_CLOEXEC), 3);
  EXPECT_EQ(
      run("echo first >&3; echo second >&4\n", {"", {}, std::nullopt, {4, 3}}),
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

TEST_F(SpawnProcess, HasTheEnvironmentItIsGivenOrOurs) {
  setenv("FASTK_SPAWN_TEST", "ours", 1);
  std::string script = "[ \"$FASTK_SPAWN_TEST\" = ours ] && exit 3\n"
                       "[ \"$FASTK_SPAWN_TEST\" = given ] && exit 4\n"
                       "exit 5\n";
  using Variables = std::vector<std::string>;
  EXPECT_EQ(run(script, {}), 3);
  EXPECT_EQ(run(script, {"", {}, Variables{"FASTK_SPAWN_TEST=given"}, {}}), 4);
  EXPECT_EQ(run(script, {"", {}, Variables(), {}}), 5);
  unsetenv("FASTK_SPAWN_TEST");
}

TEST_F(SpawnProcess, BlocksAndHandlesNoSignalAndLeadsAGroup) {
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

TEST_F(SpawnProcess, SaysWhyItDidNotStart) {
  EXPECT_EQ(spawnProcess({folder + "/none", {"none"}}), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(spawnProcess({"/bin/sh", {"sh"}, std::nullopt, {-1}}), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(SpawnProcess, RunsInItsFolderWithTheStreamsItIsGiven) {
  int output = openFile("/first"), error = openFile("/second");
  std::ofstream(folder + "/script") << "given\n";
  int input = open((folder + "/script").c_str(), O_RDONLY | O_CLOEXEC);
  SpawnOptions options = {"/bin/sh", {"sh", "-c", "pwd; cat; echo bad >&2"}};
  options.folder = folder;
  options.input = input;
  options.output = output;
  options.error = error;
  pid_t pid = spawnProcess(options);
  ASSERT_GT(pid, 0);
  EXPECT_EQ(waitForProcess(pid), 0);
  for (int fd : {input, output, error})
    close(fd);
  EXPECT_EQ(textOf("/first"), folder + "\ngiven\n");
  EXPECT_EQ(textOf("/second"), "bad\n");
}

TEST_F(SpawnProcess, SaysThatItsFolderIsNotThere) {
  SpawnOptions options = {"/bin/sh", {"sh", "-c", "exit 0"}};
  options.folder = folder + "/none";
  EXPECT_EQ(spawnProcess(options), -1);
  EXPECT_EQ(errno, ENOENT);
  // Nothing is left to be waited for.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(SpawnProcess, HasALimitOfMemory) {
#if !__has_feature(address_sanitizer)
  SpawnOptions options;
  options.dataBytes = uint64_t(64) << 20;
  EXPECT_EQ(run("[ $(ulimit -d) = 65536 ]\n", options), 0);
#endif
}

/// What does not end when it is asked to is killed, and all that it started.
TEST_F(SpawnProcess, IsNotWaitedForWithoutEnd) {
  using std::chrono::milliseconds;
  SpawnOptions options = {"/bin/sh", {"sh", "-c", "exec sleep 60"}};
  int status = endProcess(spawnProcess(options), milliseconds(60000));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

  int pair[2];
  ASSERT_EQ(pipe2(pair, O_CLOEXEC), 0);
  options.arguments.back() = "trap '' TERM; sleep 60 & echo begun; wait";
  options.output = pair[1];
  pid_t pid = spawnProcess(options);
  ASSERT_GT(pid, 0);
  close(pair[1]);
  char begun[6];
  ASSERT_EQ(read(pair[0], begun, sizeof begun), 6);
  status = endProcess(pid, milliseconds(100));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  // The child's own is gone as well: nobody has the other end.
  pollfd end = {pair[0], POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 20000), 1);
  close(pair[0]);
}

TEST_F(SpawnProcess, EndsWithItsParent) {
  int pair[2];
  ASSERT_EQ(pipe2(pair, O_CLOEXEC), 0);
  pid_t parent = fork();
  if (parent == 0) {
    SpawnOptions options = {"/bin/sleep", {"sleep", "60"}};
    options.output = pair[1];
    options.parentDeathSignal = SIGKILL;
    _exit(spawnProcess(options) > 0 ? 0 : 1);
  }
  close(pair[1]);
  EXPECT_EQ(waitForProcess(parent), 0);
  // Whoever holds the other end is gone: long before it would end by itself.
  pollfd end = {pair[0], POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 20000), 1);
  EXPECT_TRUE(end.revents & POLLHUP);
  close(pair[0]);
}

TEST_F(SpawnProcess, GivesTemporaryFilesAPlace) {
  setenv("FASTK_SPAWN_TEST", "ours", 1);
  std::vector<std::string> variables = environmentFor(
      "/place", {"FASTK_SPAWN_TEST=theirs", "FASTK_SPAWN_NEW=1"});
  unsetenv("FASTK_SPAWN_TEST");
  auto has = [&](const char *variable) {
    return std::find(variables.begin(), variables.end(), variable) !=
           variables.end();
  };
  EXPECT_TRUE(has("TMPDIR=/place"));
  EXPECT_TRUE(has("FASTK_SPAWN_TEST=ours"));
  EXPECT_FALSE(has("FASTK_SPAWN_TEST=theirs"));
  EXPECT_TRUE(has("FASTK_SPAWN_NEW=1"));
}

} // namespace
