//===- RuntimeTest.h - A function to call, a GPU for it ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_RUNTIME_RUNTIMETEST_H
#define FASTK_UNITTESTS_RUNTIME_RUNTIMETEST_H

#include "../ConditionalTest.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Protocol/PlanFile.h"
#include "fastk/Runtime/fastk_runtime.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace fastk::test {

/// `add` writes a + 1 to b for 1024 floats, in blocks of 256 threads.
inline const char *const addPTX = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b) {
  .reg .b64 %p<4>;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  ld.param.u64 %p0, [a];
  ld.param.u64 %p1, [b];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  mul.wide.u32 %p2, %r3, 4;
  add.u64 %p0, %p0, %p2;
  add.u64 %p1, %p1, %p2;
  ld.global.f32 %f0, [%p0];
  add.f32 %f1, %f0, 0f3F800000;
  st.global.f32 [%p1], %f1;
  ret;
}
)";

inline constexpr size_t addBytes = 4096;

/// One step into a workspace, one out of it: in + 2.
inline const char *const addTwice = R"({"format": 1,
 "workspaces": [{"bytes": 100}, {"bytes": 4096}],
 "steps": [
  {"launch": "m::add", "grid": [4,1,1], "block": [256,1,1], "arguments": ["in0", "ws1"]},
  {"launch": "m::add", "grid": [4,1,1], "block": [256,1,1], "arguments": ["ws1", "out0"]}]}
)";

/// The plan file of a model with one function, `forward`, with one input and
/// one output of 1024 floats.
inline std::string addFile(const char *plan = addTwice,
                           std::string_view code = addPTX,
                           std::vector<std::string_view> constants = {}) {
  worker::PlanFile file;
  file.target = "cuda:sm_80";
  file.images = {{"m", code}};
  file.constants = std::move(constants);
  std::string error;
  auto parsed = worker::parseLaunchPlan(plan, error, worker::PlanOf::Model);
  EXPECT_EQ(error, "");
  worker::PlanFile::Function &function = file.functions.emplace_back();
  function.name = "forward";
  function.signature = R"({"inputs":[{"dtype":"f32","shape":[1024]}],)"
                       R"("outputs":[{"dtype":"f32","shape":[1024]}]})";
  function.plan = parsed.value_or(worker::LaunchPlan());
  function.images = {0};
  for (size_t i = 0; i < file.constants.size(); ++i)
    function.constants.push_back(i);
  return writePlanFile(file);
}

/// That function, as a library has it.
struct AddFunction {
  explicit AddFunction(std::string theFile = addFile())
      : file(std::move(theFile)), function{FASTK_FUNCTION_VERSION,
                                           0,
                                           file.data(),
                                           file.size(),
                                           "forward",
                                           nullptr} {}
  AddFunction(const AddFunction &) = delete;
  ~AddFunction() { fastk_release(&function); }

  std::string file;
  fastk_function function;
};

/// What tests on a GPU need.
inline Need gpuNeed() {
  Need need = {"a GPU", "", "FASTK_REQUIRE_GPU"};
  cuda::Driver::get(need.missing);
  return need;
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_RUNTIME_RUNTIMETEST_H
