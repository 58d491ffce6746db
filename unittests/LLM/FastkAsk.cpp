//===- FastkAsk.cpp - Asks one model one thing ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the tests that want the whole client as a program: the prompt's user part
// on standard input, the reply as a JSON object on standard output.
//
//   fastk-ask PROVIDER:MODEL[?...] [--system=TEXT] [--schema=JSON]
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/HttpModel.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace fastk;

static cl::opt<std::string> spec(cl::Positional, cl::Required,
                                 cl::desc("PROVIDER:MODEL"));
static cl::opt<std::string> systemPart("system", cl::desc("system part"));
static cl::opt<std::string> schema("schema", cl::desc("JSON schema"));

static json::Object toJSON(const Reply &reply) {
  const Usage &usage = reply.usage;
  json::Object counts{{"input_tokens", usage.inputTokens},
                      {"cached_tokens", usage.cachedTokens},
                      {"output_tokens", usage.outputTokens},
                      {"reasoning_tokens", usage.reasoningTokens},
                      {"attempts", usage.attempts},
                      {"estimated", usage.isEstimated}};
  if (usage.usd)
    counts["usd"] = *usage.usd;
  return json::Object{{"model", reply.model},
                      {"status", stringify(reply.status)},
                      {"failure", stringify(reply.failure)},
                      {"problem", reply.problem},
                      {"text", reply.text},
                      {"usage", std::move(counts)}};
}

int main(int argc, char **argv) {
  ExitOnError check("fastk-ask: ");
  cl::ParseCommandLineOptions(argc, argv);
  auto input = MemoryBuffer::getSTDIN();
  if (!input)
    check(errorCodeToError(input.getError()));
  Prompt prompt;
  prompt.name = "asked";
  prompt.system = systemPart;
  prompt.user = (*input)->getBuffer().str();
  prompt.schema = schema;
  std::unique_ptr<LanguageModel> model =
      check(createHttpModel(check(parseModelOptions(spec))));
  check(model->ask(prompt, {}, [](size_t, const Reply &reply) {
    outs() << json::Value(toJSON(reply)) << "\n";
    return Error::success();
  }));
  return 0;
}
