//===- ConditionalTest.h - Tests that need something ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test that cannot run on this machine is not registered, so that none counts
// as passed or skipped that did not run; one line says why. Where the variable
// that asks for it is set, it is registered all the same, and fails.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_CONDITIONALTEST_H
#define FASTK_UNITTESTS_CONDITIONALTEST_H

#include "gtest/gtest.h"
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace fastk::test {

/// What tests need of the machine.
struct Need {
  /// As in "tests that need a GPU".
  std::string what;
  /// Why it is missing; empty where it is there.
  std::string missing;
  /// The environment variable that makes missing it a failure.
  const char *variable;
};

/// Whether tests with that need are registered.
inline bool isRegistered(const Need &need) {
  if (need.missing.empty() || std::getenv(need.variable))
    return true;
  static auto *said = new std::set<std::string>();
  if (said->insert(need.what).second)
    std::fprintf(stderr, "[not registered: tests that need %s] %s\n",
                 need.what.c_str(), need.missing.c_str());
  return false;
}

template <class Fixture, class Test>
bool registerTest(const Need &need, const char *suite, const char *name,
                  const char *file, int line) {
  if (!isRegistered(need))
    return false;
  struct Registered : Test {
    explicit Registered(const Need &need) : need(need) {}
    void TestBody() override {
      ASSERT_EQ(need.missing, "") << need.variable << " is set";
      Test::TestBody();
    }
    void SetUp() override {
      if (need.missing.empty())
        Test::SetUp();
    }
    void TearDown() override {
      if (need.missing.empty())
        Test::TearDown();
    }
    const Need need;
  };
  // Of the fixture's type: GoogleTest takes a suite's set-up from it.
  testing::RegisterTest(suite, name, nullptr, nullptr, file, line,
                        [need]() -> Fixture * { return new Registered(need); });
  return true;
}

} // namespace fastk::test

/// TEST_F where NEED, a fastk::test::Need, is met.
#define FASTK_TEST_F_IF(NEED, FIXTURE, NAME)                                   \
  class FIXTURE##_##NAME##_Test : public FIXTURE {                             \
  protected:                                                                   \
    void TestBody() override;                                                  \
  };                                                                           \
  [[maybe_unused]] static const bool FIXTURE##_##NAME##_registered =           \
      fastk::test::registerTest<FIXTURE, FIXTURE##_##NAME##_Test>(             \
          NEED, #FIXTURE, #NAME, __FILE__, __LINE__);                          \
  void FIXTURE##_##NAME##_Test::TestBody()

#endif // FASTK_UNITTESTS_CONDITIONALTEST_H
