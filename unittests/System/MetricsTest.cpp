//===- MetricsTest.cpp - Numbers for those who watch ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/Metrics.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace fastk;

static std::string read(const std::string &path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Metrics, AreInPrometheusFormat) {
  Metrics metrics("", {{"gpu", "0"}});
  metrics.add({"jobs_total", "Jobs"}, {{"status", "ok"}}, 1);
  metrics.add({"jobs_total", "Jobs"}, {{"status", "ok"}}, 2);
  metrics.add({"jobs_total", "Jobs"}, {{"status", "wrong"}}, 0);
  metrics.set({"clock_mhz", "A \\ and\na line"}, {}, 7);
  metrics.set({"clock_mhz", "A \\ and\na line"}, {}, 1980.5);
  EXPECT_EQ(metrics.text(), "# HELP clock_mhz A \\\\ and\\na line\n"
                            "# TYPE clock_mhz gauge\n"
                            "clock_mhz{gpu=\"0\"} 1980.5\n"
                            "# HELP jobs_total Jobs\n"
                            "# TYPE jobs_total counter\n"
                            "jobs_total{gpu=\"0\",status=\"ok\"} 3\n"
                            "jobs_total{gpu=\"0\",status=\"wrong\"} 0\n");
}

TEST(Metrics, TakeWhatTheirNamesSay) {
  Metrics metrics("");
  for (double value : {2.0, 3.0}) {
    metrics.take({"a_total", ""}, {}, value);
    metrics.take({"b", ""}, {{"name", "a \"b\"\n"}}, value);
  }
  std::string text = metrics.text();
  EXPECT_NE(text.find("\na_total 5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nb{name=\"a \\\"b\\\"\\n\"} 3\n"), std::string::npos)
      << text;
}

TEST(Metrics, AreWrittenWholeAndNotTooOften) {
  std::string pattern = testing::TempDir() + "fastk-metrics-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  std::string path = pattern + "/fastk.prom";
  Metrics metrics(path);
  metrics.set({"a", "A"}, {}, 1);
  EXPECT_FALSE(metrics.writeIfDue());
  metrics.set({"a", "A"}, {}, 2);
  EXPECT_FALSE(metrics.writeIfDue());
  EXPECT_NE(read(path).find("\na 1\n"), std::string::npos);
  EXPECT_FALSE(metrics.write());
  EXPECT_EQ(read(path), metrics.text());
  // Nothing else is left there.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(pattern), {}), 1);
  std::filesystem::remove_all(pattern);
  EXPECT_TRUE(metrics.write());
  EXPECT_FALSE(Metrics("").write());
}
