//===- AdmissionFixture.h - A family and its judge for tests ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_DRIVER_ADMISSIONFIXTURE_H
#define FASTK_UNITTESTS_DRIVER_ADMISSIONFIXTURE_H

#include "SessionFixture.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Driver/AdmitFamily.h"
#include "fastk/Driver/FamilySamples.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <functional>

namespace fastk {

/// Gives verdicts without a worker.
class ScriptedJudge : public Evaluator {
public:
  /// Gives the verdict on the request; nothing: pending.
  std::function<std::optional<worker::Verdict>(const EvaluationRequest &)>
      answer = [](const EvaluationRequest &) { return right(); };
  size_t asked = 0;

  static worker::Verdict right() {
    worker::Verdict verdict;
    verdict.status = worker::Status::OK;
    verdict.precision = worker::Precision::IEEE;
    verdict.gpu.emplace();
    verdict.gpu->name = "NVIDIA H200";
    verdict.gpu->compiler = "13.0";
    verdict.gpu->driver = "13.1";
    verdict.gpu->prelude = cuda::preludeDigest();
    return verdict;
  }
  static worker::Verdict timed(double ns, double baselineNs) {
    worker::Verdict verdict = right();
    verdict.timing.candidate = worker::Timing{ns, ns, ns, 9};
    verdict.timing.baseline =
        worker::Timing{baselineNs, baselineNs, baselineNs, 9};
    double ratio = baselineNs / ns;
    verdict.timing.speedupOverBaseline = worker::Ratio{ratio, ratio, ratio};
    return verdict;
  }
  static worker::Verdict failed(worker::Status status) {
    worker::Verdict verdict;
    verdict.status = status;
    verdict.reason = "as told";
    return verdict;
  }

  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request, const RequestContext &) override {
    // Briefly or not at all, but never as in a search.
    EXPECT_NE(request.validateOnly, request.timesBriefly);
    ++asked;
    return answer(request);
  }
  std::string pendingHint() const override { return "a judge"; }
};

/// A family that takes everything of 16 bits, in a folder of its own.
class AdmissionTest : public SessionTest {
protected:
  void SetUp() override {
    SessionTest::SetUp();
    options.folder = path("toy");
    request.said = &stream;
    ASSERT_FALSE(llvm::sys::fs::create_directory(options.folder));
    write("kernel.cu", "#define TILE 16 // tune: 16, 32, 64\n");
    write("plan.json", R"json({"steps": [
      {"launch": "k", "grid": "ceildiv(M, TILE)", "block": 32,
       "arguments": ["A", "B", "OUT"]}]})json");
    writeFamily("A_BITS == 16");
  }
  void write(const std::string &name, const std::string &text) {
    std::ofstream(options.folder + "/" + name) << text;
  }
  void writeFamily(const std::string &requirement) {
    write("family.json",
          R"json({"format": 1, "core": "contraction", "target": "sm_90a",
      "title": "t", "text": "x", "category": "memory access", "legal": [],
      "choose": ["TILE"], "cost": ["TILE"], "requirements": [{"require": ")json" +
              requirement + R"json(", "because": "it is a toy"}]})json");
  }
  llvm::Expected<AdmitEnd> admit() {
    llvm::Expected<AdmitResult> result = admitFamily(
        options, "cuda:sm_90a", judge, request, &session.getContext());
    if (!result)
      return result.takeError();
    stream << result->text;
    return result->end;
  }
  std::string problemOfAdmission() {
    llvm::Expected<AdmitEnd> end = admit();
    return end ? "" : llvm::toString(end.takeError());
  }
  std::string evidence() const {
    return contentOf(families::evidencePath(options.folder));
  }

  AdmitOptions options;
  ScriptedJudge judge;
  SearchRequest request;
};

} // namespace fastk

#endif // FASTK_UNITTESTS_DRIVER_ADMISSIONFIXTURE_H
