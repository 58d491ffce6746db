//===- WorkerHarness.cpp - Runs the real worker in tests ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::worker;

/// A folder that goes when the test program does.
static const std::string &folder() {
  struct Folder {
    std::string path;
    Folder() {
      std::string pattern = ::testing::TempDir() + "fastk-worker-XXXXXX";
      path = mkdtemp(pattern.data());
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static Folder folder;
  return folder.path;
}

std::string test::compile(const std::string &file, const std::string &flags) {
  static std::map<std::string, std::string> known;
  std::string &path = known[file + " " + flags];
  if (!path.empty())
    return path;
  path = folder() + "/" + std::to_string(known.size()) + ".so";
  std::string command = std::string(FASTK_TEST_CC) +
                        " -O2 -ffp-contract=off -shared -fPIC -fopenmp -w " +
                        flags + " " FASTK_TEST_INPUTS "/" + file + " -o " +
                        path + " -lm";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

static std::string slurp(const std::string &path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

test::Output test::runWorker(const std::string &input,
                             const std::string &arguments) {
  std::string base = folder() + "/run";
  std::ofstream(base + ".in") << input;
  std::string command = std::string(FASTK_WORKER " ") + arguments + " < " +
                        base + ".in > " + base + ".out 2> " + base + ".err";
  int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          slurp(base + ".out"), slurp(base + ".err")};
}

Verdict test::judge(const Job &job) {
  Output output = runWorker(toJSON(job));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  std::string error;
  std::optional<Verdict> verdict = parseVerdict(output.out, error);
  EXPECT_TRUE(verdict) << error << "\n" << output.out;
  if (!verdict)
    return {};
  EXPECT_EQ(verdict->id, job.id);
  return *verdict;
}

static Job basicJob(const std::string &candidate) {
  Job job;
  job.id = "test";
  job.mode = Mode::Validate;
  job.candidate.path = candidate;
  job.time.maxSeconds = 0.5;
  job.limits.wallSeconds = 2;
  return job;
}

Job test::matmulJob(const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Contraction;
  job.reductionLength = 96;
  job.inputs = {{ElementType::F32, {64, 96}, Role::Data, {}},
                {ElementType::F32, {96, 48}, Role::Weight, {}}};
  job.outputs = {{ElementType::F32, {64, 48}, Role::Data, {}}};
  job.oracle.path = compile("matmul.c", "-DOUT=double");
  job.baseline.path = compile("matmul.c", "");
  job.candidate.workspaceBytes = 96 * 48 * 4;
  return job;
}

Job test::rowwiseJob(const std::string &op, const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = op == "NORM" ? Kind::Norm : Kind::Softmax;
  job.reductionLength = 80;
  job.inputs = {{ElementType::F32, {96, 80}, Role::Data, {}}};
  if (op == "NORM") {
    job.inputs.push_back({ElementType::F32, {80}, Role::Scale, {}});
    job.inputs.push_back({ElementType::F32, {80}, Role::Bias, {}});
  }
  job.outputs = {{ElementType::F32, {96, 80}, Role::Data, {}}};
  job.oracle.path = compile("rowwise.c", "-DT=double -DOP=" + op);
  job.baseline.path = compile("rowwise.c", "-DOP=" + op);
  return job;
}

Job test::attentionJob(const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Attention;
  job.reductionLength = 48;
  job.inputs = {{ElementType::F32, {2, 40, 32}, Role::Data, {}},
                {ElementType::F32, {2, 48, 32}, Role::Data, {}},
                {ElementType::F32, {2, 48, 32}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {2, 40, 32}, Role::Data, {}}};
  job.oracle.path = compile("attention.c", "-DT=double");
  job.baseline.path = compile("attention.c", "");
  return job;
}

Job test::maskedAttentionJob(const std::string &candidate) {
  Job job = attentionJob(candidate);
  job.inputs.push_back({ElementType::F32, {40, 48}, Role::Mask, {}});
  job.oracle.path = compile("attention.c", "-DMASKED -DT=double");
  job.baseline.path = compile("attention.c", "-DMASKED");
  return job;
}

Job test::domainJob(const std::string &op, const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Elementwise;
  bool isInteger = op.rfind("I_", 0) == 0, isHalf = op.rfind("H_", 0) == 0;
  ElementType type = isInteger ? ElementType::I32
                     : isHalf  ? ElementType::F16
                               : ElementType::F32;
  bool isDomain = op == "LOG" || op == "SQRT" || op == "CUBE";
  Role role = isDomain ? Role::Positive : Role::Data;
  job.inputs = {{type, {50, 100}, role, {}}};
  bool divides = op == "DIVIDE" || op == "I_DIVIDE";
  if (divides || isInteger)
    job.inputs.push_back(
        {type, {50, 100}, divides ? Role::Divisor : Role::Data, {}});
  if (op == "NORM")
    job.inputs.push_back({type, {100}, Role::Positive, {}});
  job.outputs = {{type, {50, 100}, Role::Data, {}}};
  std::string own = "-DOP=" + op;
  job.oracle.path = compile("domain.c", own + " -DT=double");
  job.baseline.path =
      compile("domain.c", own + (isHalf ? " -DT=_Float16" : ""));
  return job;
}

Job test::elementwiseJob(const std::string &op, const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Elementwise;
  ElementType type = op == "HALFADD" ? ElementType::F16
                     : op == "INT"   ? ElementType::I32
                                     : ElementType::F32;
  job.inputs = {{type, {50, 100}, Role::Data, {}}};
  if (op != "GELU")
    job.inputs.push_back({type, {50, 100}, Role::Data, {}});
  job.outputs = {{type, {50, 100}, Role::Data, {}}};
  job.oracle.path = compile("elementwise.c", "-DT=double -DOP=" + op);
  std::string result = op == "HALFADD" ? "_Float16" : "float";
  job.baseline.path = compile("elementwise.c", "-DT=" + result + " -DOP=" + op);
  return job;
}

Job test::reduceJob(const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Reduction;
  job.reductionLength = 200;
  job.inputs = {{ElementType::F32, {7, 200}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {7}, Role::Data, {}}};
  job.oracle.path = compile("reduce.c", "-DT=double");
  job.baseline.path = compile("reduce.c", "");
  return job;
}

Job test::reluNormJob(const std::string &candidate) {
  Job job = basicJob(candidate);
  job.kind = Kind::Convolution;
  job.reductionLength = 64;
  job.inputs = {{ElementType::F32, {8, 64}, Role::Weight, {}},
                {ElementType::F32, {64, 40}, Role::Data, {}},
                {ElementType::F32, {8}, Role::Positive, {}},
                {ElementType::F32, {8}, Role::Bias, {}}};
  job.outputs = {{ElementType::F32, {8, 40}, Role::Data, {}}};
  job.oracle.path = compile("relu_norm.c", "-DT=double");
  job.baseline.path = compile("relu_norm.c", "");
  return job;
}

Job test::largeJob(const std::string &flags) {
  Job job = basicJob(compile("large.c", flags));
  job.kind = Kind::Elementwise;
  job.inputs = {{ElementType::F32, {1536, 1536}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {1536, 1536}, Role::Data, {}}};
  job.oracle.path = compile("large.c", "-DT=double");
  job.baseline.path = compile("large.c", "");
  return job;
}

std::string test::explain(const Verdict &verdict) {
  return std::string(toString(verdict.status)) + " (" +
         std::string(toString(verdict.precision)) + "): " + verdict.reason;
}
