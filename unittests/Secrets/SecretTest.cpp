//===- SecretTest.cpp - Keys, and texts without them ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Secrets/Secret.h"
#include "gtest/gtest.h"
#include <csignal>
#include <optional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using llvm::StringRef;

namespace {

TEST(Secret, IsTakenOutOfTexts) {
  StringRef key = "sk-abcdefghijklmnop";
  EXPECT_EQ(withoutSecrets("a sk-abcdefghijklmnop b sk-abcdefghijklmnop", key),
            "a [key] b [key]");
  EXPECT_EQ(withoutSecrets("nothing", key), "nothing");
  EXPECT_EQ(withoutSecrets("", key), "");
}

TEST(Secret, ShortOnesWouldDamageTexts) {
  EXPECT_EQ(withoutSecrets("for (int i = 0;;)", StringRef("i")),
            "for (int i = 0;;)");
  EXPECT_EQ(withoutSecrets("x", StringRef("")), "x");
  EXPECT_EQ(withoutPieces("none", StringRef("none")), "none");
}

TEST(Secret, PiecesOfEightGoToo) {
  StringRef key = "sk-abcdefghijklmnop";
  EXPECT_EQ(withoutPieces("bad key sk-abcde****ijklmnop.", key),
            "bad key [key]****[key].");
  EXPECT_EQ(withoutPieces("bad key sk-abcd.", key), "bad key sk-abcd.");
  EXPECT_EQ(withoutPieces("sk-abcdefghijklmnopsk-abcdefghijklmnop", key),
            "[key][key]");
}

rlimit coreLimit() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_CORE, &limit);
  return limit;
}

TEST(Secret, NoCoreFilesWhileOneLives) {
  rlim_t before = coreLimit().rlim_cur;
  {
    Secret first("one-secret-key");
    EXPECT_LE(coreLimit().rlim_cur, 1u);
    {
      Secret second("two-secret-key");
    }
    EXPECT_LE(coreLimit().rlim_cur, 1u);
  }
  EXPECT_EQ(coreLimit().rlim_cur, before);
}

/// Whether a process that dies of a signal leaves a core file.
bool leavesCore(bool hasSecret) {
  pid_t child = ::fork();
  if (child == 0) {
    rlimit limit = coreLimit();
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_CORE, &limit);
    std::optional<Secret> secret;
    if (hasSecret)
      secret.emplace("one-secret-key");
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  return WCOREDUMP(status);
}

TEST(Secret, ACrashLeavesNoCoreFile) { EXPECT_FALSE(leavesCore(true)); }

} // namespace
