//===- OpenJobsTest.cpp - Which jobs a worker takes first -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spool/OpenJobs.h"
#include "WorkerHarness.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace fastk::worker;
using namespace fastk::worker::test;
namespace fs = std::filesystem;

namespace {

constexpr int kWorkloads = 12, kJobsOfEach = 5;

class OpenJobsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "fastk-open-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  /// A job of workload number \p workload; names end in a hash, as a search's.
  void add(int workload, int number) {
    Job job = any;
    job.id = "any";
    job.reductionLength += workload;
    char hash[24];
    unsigned mixed = unsigned(workload * kJobsOfEach + number) * 2654435761u;
    snprintf(hash, sizeof(hash), "job-%06x", mixed >> 8);
    fs::path place = folder / hash;
    fs::create_directory(place);
    std::ofstream(place / "job.json") << toJSON(job);
    workloads[place] = workload;
  }

  std::vector<fs::path> orderOf(unsigned share, unsigned shares) {
    OpenJobs jobs(folder, share, shares);
    EXPECT_FALSE(jobs.refresh());
    return jobs.inOrder();
  }

  const Job any = matmulJob("none.so");
  fs::path folder;
  std::map<fs::path, int> workloads;
};

} // namespace

TEST_F(OpenJobsTest, EachWorkloadIsFirstWithOneWorker) {
  for (int workload = 0; workload < kWorkloads; ++workload)
    for (int number = 0; number < kJobsOfEach; ++number)
      add(workload, number);
  constexpr unsigned kShares = 3;
  size_t firsts = 0;
  for (unsigned share = 0; share < kShares; ++share) {
    std::vector<fs::path> order = orderOf(share, kShares);
    ASSERT_EQ(order.size(), workloads.size());
    // Its own come first, each workload with all its jobs in a row.
    std::set<int> seen;
    size_t at = 0;
    for (; at < order.size(); at += kJobsOfEach) {
      int workload = workloads.at(order[at]);
      auto end = order.begin() + long(at) + kJobsOfEach;
      if (!std::all_of(order.begin() + long(at), end, [&](const fs::path &job) {
            return workloads.at(job) == workload;
          }))
        break;
      EXPECT_TRUE(seen.insert(workload).second);
    }
    firsts += seen.size();
  }
  // A share of others' jobs may be a whole workload by chance, seldom.
  EXPECT_GE(firsts, size_t(kWorkloads));
  EXPECT_LE(firsts, size_t(kWorkloads) + 2);
}

TEST_F(OpenJobsTest, JobsOfOneWorkloadAreDealtOut) {
  for (int number = 0; number < 40; ++number)
    add(1, number);
  std::set<fs::path> firsts;
  for (unsigned share = 0; share < 4; ++share)
    firsts.insert(orderOf(share, 4).front());
  // Two may begin with the same: the workload's own worker takes any.
  EXPECT_GE(firsts.size(), 3u);
}
