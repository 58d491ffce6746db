//===- Replay.cpp - Verdicts from a cassette ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Replay.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fastk;

namespace {
class ReplayEvaluator : public Evaluator {
public:
  explicit ReplayEvaluator(std::shared_ptr<const Cassette> given)
      : cassette(std::move(given)) {
    for (const RecordedSearch &search : cassette->searches)
      for (const RecordedVerdict &each : search.verdicts)
        verdicts.try_emplace(search.workload + " " + each.name, &each.verdict);
  }

  llvm::Expected<Provenance> provenance(LoweringOp,
                                        const RequestContext &) override {
    return Provenance{{"cassette", cassette->digest}};
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override;

private:
  std::shared_ptr<const Cassette> cassette;
  llvm::StringMap<const worker::Verdict *> verdicts;
};
} // namespace

llvm::Expected<std::optional<worker::Verdict>>
ReplayEvaluator::evaluate(const EvaluationRequest &request,
                          const RequestContext &) {
  StringRef key = LoweringOp(request.workload).getKey();
  std::string name =
      verdictName(request.candidate, request.promote, request.repeat);
  auto found = verdicts.find((key + " " + name).str());
  if (found != verdicts.end())
    return *found->second;
  const RecordedSearch *search = cassette->find(key);
  std::string why;
  if (!search)
    why =
        "nothing of workload " + key.take_front(8).str() + " is recorded there";
  else if (request.promote &&
           verdicts.contains(
               (key + " evaluate/" + digestOf(request.candidate)).str()))
    why = "the recorded search did not measure it a second time";
  else
    why = "the recorded search did not try it";
  if (search && !search->isComplete)
    why += ", or not yet: it was pending or interrupted when it was recorded";
  return llvm::createStringError(
      cassette->path + ": holds no verdict " +
      StringRef(name).take_front(name.find('/') + 13) +
      "... on a variant of '" + request.candidate.ideaId + "': " + why +
      "; search as it was recorded (the same options, proposers, bank and "
      "fastk), or record it again with --record=FILE");
}

std::unique_ptr<Evaluator>
fastk::createReplayEvaluator(std::shared_ptr<const Cassette> cassette) {
  return std::make_unique<ReplayEvaluator>(std::move(cassette));
}
