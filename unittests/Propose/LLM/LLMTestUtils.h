//===- LLMTestUtils.h - Requests and scripted models ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_LLM_LLMTESTUTILS_H
#define FASTK_UNITTESTS_PROPOSE_LLM_LLMTESTUTILS_H

#include "../RequestedWorkload.h"
#include "fastk/LLM/Exchanges.h"
#include "fastk/Propose/LLM/LLMProposer.h"
#include <functional>

namespace fastk::test {

/// An H200, without what a calibration on the testing machine would change.
inline TargetDescription gpuTarget() {
  TargetDescription target;
  target.target = "cuda:sm_90a";
  target.model = "NVIDIA H200";
  target.memoryBytesPerSecond = 4.8e12;
  target.cacheBytesPerSecond = 20e12;
  target.f32OpsPerSecond = target.f64OpsPerSecond = 67e12;
  target.tf32OpsPerSecond = 494.7e12;
  target.f16OpsPerSecond = target.bf16OpsPerSecond = 989.4e12;
  return target;
}

inline TargetDescription cpuTarget() {
  TargetDescription target;
  target.model = "Some CPU";
  target.threads = target.cores = 8;
  target.vectorBytes = 32;
  target.hasFma = true;
  target.instructionSets = "avx2 fma f16c bmi2";
  target.l1Bytes = 32 << 10;
  target.l2Bytes = 1 << 20;
  target.l3Bytes = 32 << 20;
  target.memoryBytesPerSecond = 50e9;
  target.cacheBytesPerSecond = 2e12;
  target.f32OpsPerSecond = 1e12;
  target.f64OpsPerSecond = 0.5e12;
  target.f16OpsPerSecond = target.bf16OpsPerSecond = 1e12;
  return target;
}

/// A workload and everything that a request refers to.
struct Request : RequestedWorkload {
  using RequestedWorkload::RequestedWorkload;
  static Request golden(llvm::StringRef name, TargetDescription device) {
    Module module =
        wrapFileIntoWorkload((FASTK_GOLDEN_DIR "/" + name + ".mlir").str());
    EXPECT_TRUE(bool(module)) << name.str();
    return Request(*module, std::move(device));
  }

  ProposalContext context() {
    return {workload,
            features,
            roofline,
            target,
            precision,
            8,
            baselineSeconds,
            roofline.floorSeconds(target, roofline.timedCaches(target)),
            history,
            parents,
            round,
            known,
            exchanges,
            requireDeterministic};
  }

  TriedVariant tried(Variant variant, llvm::StringRef title,
                     double seconds) const {
    TriedVariant result;
    result.idea.id = variant.ideaId;
    result.idea.title = title.str();
    result.idea.text = "Text of " + title.str() + ".";
    result.variant = std::move(variant);
    result.status = "ok";
    result.seconds = seconds;
    result.baselineSeconds = baselineSeconds;
    result.round = round;
    return result;
  }

  Precision precision = Precision::ieee;
  double baselineSeconds = 40e-6;
  int round = 1;
  Exchanges *exchanges = nullptr;
  bool requireDeterministic = false;
  std::vector<TriedVariant> history, parents;
  std::vector<Idea> known;
};

/// Answers by a function, in memory; nothing: pending.
class ScriptedModel : public LanguageModel {
public:
  using Answer = std::function<std::optional<Reply>(const Prompt &)>;
  explicit ScriptedModel(Answer answer) : answer(std::move(answer)) {}

  llvm::StringRef name() const override { return "scripted:model"; }
  std::string pendingHint() const override { return "by waiting"; }
  llvm::Error ask(llvm::ArrayRef<Prompt> prompts, const RequestContext &,
                  OnReply onReply) override {
    ++calls;
    for (auto [index, prompt] : llvm::enumerate(prompts)) {
      asked.push_back(prompt);
      if (std::optional<Reply> reply = answer(prompt))
        if (llvm::Error error = onReply(index, std::move(*reply)))
          return error;
    }
    return llvm::Error::success();
  }

  std::vector<Prompt> asked;
  int calls = 0;

private:
  Answer answer;
};

inline Reply said(std::string text,
                  ReplyStatus status = ReplyStatus::Complete) {
  Reply reply;
  reply.model = "scripted:model";
  reply.text = std::move(text);
  reply.status = status;
  return reply;
}

/// A proposer and the model it asks, which it owns.
struct Asking {
  explicit Asking(ScriptedModel::Answer answer,
                  LLMProposerOptions options = {}) {
    auto owned = std::make_unique<ScriptedModel>(std::move(answer));
    model = owned.get();
    proposer = createLLMProposer(std::move(owned),
                                 llvm::cantFail(PromptTemplates::load()),
                                 std::move(options));
  }
  ScriptedModel *model = nullptr;
  std::unique_ptr<Proposer> proposer;
};

/// A complete program for relu_small-like workloads, and its plan.
inline std::string goodProgram() {
  return R"(#define THREADS 256 // tune: 128, 256, 512
#define TOTAL 8192
extern "C" __global__ void __launch_bounds__(THREADS) relu(const float *in, float *out) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < TOTAL)
    out[i] = fmaxf(in[i], 0.0f);
}
)";
}
inline std::string goodPlan() {
  return R"json({"format": 1,
 "steps": [{"launch": "relu", "grid": ["ceildiv(TOTAL, THREADS)"], "block": ["THREADS"], "arguments": ["in0", "out0"]}]}
)json";
}
inline std::string goodReply() {
  return "One element a thread.\n\n```cuda\n" + goodProgram() +
         "```\n\n```json\n" + goodPlan() + "```\n";
}
inline std::string goodIdeas() {
  return R"json({"ideas": [
 {"title": "Vectors of four", "category": "memory access", "text": "Each thread loads 16 bytes.", "parent": "none", "expected_gain": "1.5x, because loads are wider"},
 {"title": "A grid-stride loop", "category": "control flow and loops", "text": "Blocks stay resident.", "parent": "none", "expected_gain": "1.1x"}]})json";
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_LLM_LLMTESTUTILS_H
