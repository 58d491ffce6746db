//===- CassetteTestUtils.h - A small recorded search ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_LLM_CASSETTE_CASSETTETESTUTILS_H
#define FASTK_UNITTESTS_PROPOSE_LLM_CASSETTE_CASSETTETESTUTILS_H

#include "fastk/Propose/LLM/Cassette.h"

namespace fastk::test {

inline Prompt makePrompt(const std::string &name, const std::string &user,
                         int sample = 0) {
  Prompt prompt;
  prompt.kind = PromptKind::Variant;
  prompt.name = name;
  prompt.system = "You write kernels.\nRules follow.";
  prompt.user = user;
  prompt.templates = "templates of " + name;
  prompt.sample = sample;
  return prompt;
}

inline RecordedExchange makeExchange(Prompt prompt, const std::string &reply,
                                     double elapsed,
                                     const std::string &model = "mailbox:box") {
  RecordedExchange exchange;
  exchange.digest = digestOf(prompt);
  exchange.model = model;
  exchange.elapsed = elapsed;
  exchange.prompt = std::move(prompt);
  exchange.reply.model = model;
  exchange.reply.text = reply;
  exchange.reply.usage.inputTokens = 100;
  exchange.reply.usage.seconds = 0.1 + 0.2;
  return exchange;
}

inline RecordedVerdict makeVerdict(const std::string &name, double medianNs,
                                   double elapsed) {
  RecordedVerdict recorded{name, elapsed, {}};
  recorded.verdict.id = "job";
  recorded.verdict.status = worker::Status::OK;
  recorded.verdict.precision = worker::Precision::IEEE;
  recorded.verdict.timing.candidate =
      worker::Timing{medianNs, medianNs / 3, 2 * medianNs, 20};
  // A number that needs all its bits.
  recorded.verdict.audit.seed = 0xfedcba9876543211u;
  return recorded;
}

inline const std::string kKey(64, 'a');
inline const std::string kOtherKey(64, 'b');
inline const std::string kDigest(64, '1');

/// Two workloads; the first with one prompt in two samples, a repair, and two
/// verdicts.
inline Cassette makeCassette() {
  Cassette cassette;
  cassette.path = "run.jsonl";
  cassette.fastkVersion = "0.1.0";
  cassette.target = "cuda:sm_90a";
  cassette.writes = "programs";
  RecordedSearch first;
  first.device.target = cassette.target;
  first.device.model = "Test \xc2\xb5 GPU";
  first.device.memoryBytesPerSecond = 1e12 / 3;
  first.device.tf32OpsPerSecond = 494.7e12;
  first.device.l3Bytes = 60 << 20;
  first.workload = kKey;
  first.name = "matmul";
  first.answersLater = true;
  SearchSeed seed;
  seed.idea = {"bank/winner", IdeaCategory::Compute, "Two at once", "Do it.",
               kDigest};
  seed.variant.ideaId = seed.idea.id;
  seed.variant.language = Language::cuda;
  seed.variant.program = "__global__ void f() {}";
  std::string error;
  seed.variant.plan = worker::parseLaunchPlan(
      R"({"format": 1, "steps": [{"launch": "f", "grid": [1], "block": [32],)"
      R"( "arguments": ["in0", "out0"]}]})",
      error);
  seed.variant.workspaceBytes = 64;
  seed.variant.parameters = {{"step", -2}};
  first.seeds = {seed};
  first.known = {{"bank/cccc", IdeaCategory::Latency, "Wait less", "So."}};
  first.binding = {{"key", kKey}, {"proposer", "catalog,mailbox:box"}};
  first.exchanges = {
      makeExchange(makePrompt("aaaa-idea-1-sample-1", "First.\nSecond.\n"),
                   "```c\nA\n```", 1.5),
      makeExchange(makePrompt("aaaa-idea-1-sample-2", "First.\nSecond.\n", 1),
                   "not UTF-8: \xff\xfe", 2.25)};
  RecordedExchange refused =
      makeExchange(makePrompt("aaaa-repair", "Mend."), "", 3.75);
  refused.reply.status = ReplyStatus::Failed;
  refused.reply.failure = ModelFailure::Overloaded;
  refused.reply.problem = "said \"busy\"";
  refused.reply.usage.usd = 0.01;
  first.exchanges.push_back(refused);
  first.verdicts = {makeVerdict("evaluate/" + kDigest, 1234.5, 3.5),
                    makeVerdict("promote/" + kDigest, 1200, 4)};
  RecordedSearch second;
  second.workload = kOtherKey;
  second.name = "softmax";
  second.isComplete = false;
  second.verdicts = {makeVerdict("evaluate/" + kDigest, 10, 0)};
  cassette.searches = {first, second};
  return cassette;
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_LLM_CASSETTE_CASSETTETESTUTILS_H
