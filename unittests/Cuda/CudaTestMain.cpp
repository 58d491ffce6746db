//===- CudaTestMain.cpp - Registers what this machine can run -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Driver.h"
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace fastk::cuda;

static std::vector<ConditionalTest> &conditionalTests() {
  static std::vector<ConditionalTest> tests;
  return tests;
}

ConditionalTest::ConditionalTest(Need need, const char *suite, const char *name,
                                 const char *file, int line, void (*body)())
    : need(need), suite(suite), name(name), file(file), line(line), body(body) {
  conditionalTests().push_back(*this);
}

namespace {
class BodyTest : public testing::Test {
public:
  explicit BodyTest(void (*body)()) : body(body) {}
  void TestBody() override { body(); }

private:
  void (*body)();
};
} // namespace

/// Whether the need is met; says so once where it is not.
static bool available(const char *what, const std::string &error,
                      const char *variable) {
  if (error.empty())
    return true;
  fprintf(stderr, "[not registered: tests that need %s] %s\n", what,
          error.c_str());
  if (std::getenv(variable)) {
    fprintf(stderr, "%s is set: this is a failure\n", variable);
    std::exit(1);
  }
  return false;
}

int main(int argc, char **argv) {
  if (isNvrtcChild(argc, argv))
    _exit(nvrtcChildMain(argc, argv));
  testing::InitGoogleTest(&argc, argv);
  std::string noNvrtc, noGpu;
  Nvrtc::get(noNvrtc);
  Driver::get(noGpu);
  bool nvrtc = available("NVRTC", noNvrtc, "FASTK_REQUIRE_NVRTC");
  bool gpu = available("a GPU", noGpu, "FASTK_REQUIRE_GPU");
  for (const ConditionalTest &test : conditionalTests())
    if (nvrtc && (test.need == Need::Nvrtc || gpu))
      testing::RegisterTest(test.suite, test.name, nullptr, nullptr, test.file,
                            test.line, [body = test.body]() -> testing::Test * {
                              return new BodyTest(body);
                            });
  return RUN_ALL_TESTS();
}
