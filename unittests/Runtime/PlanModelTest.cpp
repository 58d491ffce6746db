//===- PlanModelTest.cpp - Plan files, opened -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "gmock/gmock.h"
#include <cstdio>
#include <fstream>

using namespace fastk::test;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

struct PlanModel : testing::Test {
  void SetUp() override {
    fastk_clear_error();
    path = testing::TempDir() + "plan_model_test.plan";
  }
  void TearDown() override { std::remove(path.c_str()); }
  fastk_model *open(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return fastk_open(path.c_str());
  }
  std::string path;
};

TEST_F(PlanModel, TellsWhatItHas) {
  fastk_model *model = open(addFile());
  ASSERT_NE(model, nullptr) << fastk_last_error();
  EXPECT_STREQ(fastk_target(model), "cuda:sm_80");
  ASSERT_EQ(fastk_num_functions(model), 1u);
  EXPECT_STREQ(fastk_function_name(model, 0), "forward");
  EXPECT_EQ(fastk_function_name(model, 1), nullptr);
  fastk_function *function = fastk_find(model, nullptr);
  ASSERT_NE(function, nullptr);
  // One of each name, with what it holds on the GPU.
  EXPECT_EQ(fastk_find(model, "forward"), function);
  EXPECT_THAT(fastk_signature(function), HasSubstr("\"shape\":[1024]"));
  EXPECT_EQ(fastk_workspace_bytes(function), 4352u);
  EXPECT_STREQ(fastk_last_error(), "");
  fastk_close(model);
  fastk_close(nullptr);
}

TEST_F(PlanModel, AnUnknownFunction) {
  fastk_model *model = open(addFile());
  ASSERT_NE(model, nullptr) << fastk_last_error();
  EXPECT_EQ(fastk_find(model, "backward"), nullptr);
  EXPECT_EQ(fastk_last_error(), path + ": there is no function 'backward': the "
                                       "model has forward");
  fastk_close(model);
}

TEST_F(PlanModel, FilesThatCannotBeRead) {
  EXPECT_EQ(fastk_open(path.c_str()), nullptr);
  EXPECT_EQ(fastk_last_error(), path + ": No such file or directory");
  fastk_clear_error();
  EXPECT_EQ(fastk_open("/"), nullptr);
  EXPECT_STREQ(fastk_last_error(), "/: is no regular file");
  for (const std::string &bytes :
       {std::string(), std::string("#!/bin/sh\n"), addFile().substr(0, 100)}) {
    fastk_clear_error();
    EXPECT_EQ(open(bytes), nullptr);
    EXPECT_THAT(fastk_last_error(), HasSubstr(path + ": is "));
    EXPECT_THAT(fastk_last_error(),
                EndsWith("; write it again with fastk-opt --emit=plan"));
  }
}

} // namespace
