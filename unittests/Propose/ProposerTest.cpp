//===- ProposerTest.cpp - What proposers are called -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Proposer.h"
#include <gtest/gtest.h>

using namespace fastk;

TEST(SharedProposerName, SaysNotWhereThingsLie) {
  EXPECT_EQ(sharedProposerName("files:/home/ann/kernels"), "files:kernels");
  EXPECT_EQ(sharedProposerName("files:/home/ann/kernels/"), "files:kernels");
  EXPECT_EQ(sharedProposerName("files:../ann/kernels"), "files:kernels");
  EXPECT_EQ(sharedProposerName("files:a/../../ann/kernels"), "files:kernels");
  EXPECT_EQ(sharedProposerName("mailbox:/tmp/box"), "mailbox:box");
  EXPECT_EQ(sharedProposerName("replay:/data/run.jsonl"), "replay:run.jsonl");
  EXPECT_EQ(sharedProposerName("command:/opt/ask --key 123"), "command:ask");
  EXPECT_EQ(sharedProposerName("command:ask --key 123"), "command:ask");
}

TEST(SharedProposerName, KeepsWhatTellsThemApart) {
  for (const char *name :
       {"catalog", "files:kernels/relu", "mailbox:box", "openai:gpt-x",
        "anthropic:a/b", "openai:/not/a/path", "command:ask"})
    EXPECT_EQ(sharedProposerName(name), name);
}
