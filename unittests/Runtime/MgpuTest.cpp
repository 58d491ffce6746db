//===- MgpuTest.cpp - The entry points of upstream's lowering -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "gmock/gmock.h"
#include <vector>

using namespace fastk;
using namespace fastk::test;
using testing::Each;
using testing::HasSubstr;

// As the translation to LLVM IR declares them.
extern "C" {
void *mgpuModuleLoad(void *, size_t);
void *mgpuModuleLoadJIT(void *, int);
void mgpuModuleUnload(void *);
void *mgpuModuleGetFunction(void *, const char *);
void mgpuLaunchKernel(void *, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                      intptr_t, int32_t, void *, void **, void **, size_t);
void *mgpuStreamCreate();
void mgpuStreamDestroy(void *);
void mgpuStreamSynchronize(void *);
void *mgpuMemAlloc(uint64_t, void *, bool);
void mgpuMemFree(void *, void *);
void mgpuMemcpy(void *, void *, size_t, void *);
void mgpuMemset32(void *, unsigned, size_t, void *);
}

namespace {

TEST(Mgpu, WithoutADriverNothingAborts) {
  std::string missing;
  if (cuda::Driver::get(missing))
    return; // MgpuOnGpu below.
  fastk_clear_error();
  void *module = mgpuModuleLoadJIT(const_cast<char *>(addPTX), 0);
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(fastk_last_error(), missing);
  // What works on the null handle does nothing.
  void *function = mgpuModuleGetFunction(module, "add");
  EXPECT_EQ(function, nullptr);
  mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0);
  EXPECT_EQ(mgpuMemAlloc(16, nullptr, false), nullptr);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  mgpuModuleUnload(module);
  EXPECT_EQ(fastk_last_error(), missing);
}

struct MgpuOnGpu : testing::Test {};

FASTK_TEST_F_IF(gpuNeed(), MgpuOnGpu, LaunchesAKernel) {
  fastk_clear_error();
  void *module = mgpuModuleLoadJIT(const_cast<char *>(addPTX), 0);
  void *function = mgpuModuleGetFunction(module, "add");
  EXPECT_EQ(function, mgpuModuleGetFunction(module, "add"));
  void *stream = mgpuStreamCreate();
  void *memory = mgpuMemAlloc(addBytes, stream, false);
  mgpuMemset32(memory, 0x40000000, addBytes / 4, stream); // 2.0
  void *arguments[] = {&memory, &memory};
  mgpuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr,
                   2);
  std::vector<float> values(addBytes / 4);
  mgpuMemcpy(values.data(), memory, addBytes, stream);
  mgpuStreamSynchronize(stream);
  EXPECT_THAT(values, Each(3.0f));
  EXPECT_STREQ(fastk_last_error(), "");
  mgpuMemFree(memory, stream);
  mgpuStreamDestroy(stream);
  mgpuModuleUnload(module);
}

FASTK_TEST_F_IF(gpuNeed(), MgpuOnGpu, ErrorsAreKept) {
  fastk_clear_error();
  void *module = mgpuModuleLoadJIT(const_cast<char *>(addPTX), 0);
  EXPECT_EQ(mgpuModuleGetFunction(module, "none"), nullptr);
  EXPECT_THAT(fastk_last_error(), HasSubstr("kernel 'none'"));
  fastk_clear_error();
  uint64_t nowhere = 0;
  void *arguments[] = {&nowhere, &nowhere};
  mgpuLaunchKernel(mgpuModuleGetFunction(module, "add"), 1, 1, 1, 4096, 1, 1, 0,
                   nullptr, arguments, nullptr, 2);
  EXPECT_THAT(fastk_last_error(), HasSubstr("cuLaunchKernelEx failed"));
  mgpuModuleUnload(module);
  fastk_clear_error();
}

} // namespace
