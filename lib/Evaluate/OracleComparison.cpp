//===- OracleComparison.cpp - Is a device's oracle the host's -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/OracleComparison.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/System/WholeFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

/// Where agreements are kept: one empty file each. Empty: nowhere.
static std::string agreementsFolder() {
  std::string folder = userCacheFolder();
  return folder.empty() ? folder : folder + "/oracles";
}

llvm::Expected<OracleComparison::Answer>
OracleComparison::check(LoweringOp workload, Ask ask,
                        const RequestContext &context) {
  // There the oracle is the host's.
  if (workload.getTarget() == "host")
    return Answer();
  StringRef key = workload.getKey();
  if (auto known = answers.find(key); known != answers.end())
    return known->second;
  llvm::Expected<Answer> answer = compare(workload, ask, context);
  if (answer && !answer->isPending)
    answers[key] = *answer;
  return answer;
}

llvm::Expected<OracleComparison::Answer>
OracleComparison::compare(LoweringOp workload, Ask ask,
                          const RequestContext &context) {
  llvm::Expected<std::string> name = maker.nameOfComparison(workload, context);
  if (!name)
    return name.takeError();
  std::string folder = agreementsFolder();
  std::string kept = folder + "/" + *name;
  if (!folder.empty() && llvm::sys::fs::exists(kept))
    return Answer();
  // A bug that is not looked for is no reason to end a search.
  auto goOn = [&](const std::string &why) {
    context.say("the oracle on the GPU is not compared with the host's: " +
                why);
    return Answer();
  };
  llvm::Expected<PreparedComparison> prepared =
      maker.makeComparison(workload, context);
  if (!prepared)
    return prepared.takeError();
  if (!prepared->compiling.empty()) {
    Answer answer;
    answer.isPending = true;
    answer.compiling = std::move(prepared->compiling);
    return answer;
  }
  if (!prepared->whyNot.empty())
    return goOn(prepared->whyNot);
  worker::Job job = prepared->job;
  llvm::Expected<std::optional<worker::Verdict>> verdict = ask(job);
  if (!verdict)
    return verdict.takeError();
  Answer answer;
  if (!*verdict) {
    answer.isPending = true;
    return answer;
  }
  if ((*verdict)->status == worker::Status::OK) {
    // Failure is no error: what is not found is compared again.
    if (!folder.empty()) {
      (void)llvm::sys::fs::create_directories(folder);
      (void)writeWholeFile(kept, "");
    }
    return answer;
  }
  if ((*verdict)->status != worker::Status::Disagreement)
    return goOn((*verdict)->reason);
  llvm::Expected<std::string> where =
      leaveReproducer(workload, *prepared, **verdict);
  if (!where)
    return where.takeError();
  answer.verdict.emplace();
  answer.verdict->id = workload.getKey().str();
  answer.verdict->status = worker::Status::Disagreement;
  answer.verdict->errors = (*verdict)->errors;
  answer.verdict->audit = (*verdict)->audit;
  answer.verdict->reason =
      "the oracle on " + prepared->job.machine +
      " and the oracle on the host disagree: " + (*verdict)->reason +
      ". This is a bug of the compiler, not of a kernel, and no verdict on "
      "this workload can be trusted; report it with the reproducer in " +
      *where;
  return answer;
}

llvm::Expected<std::string>
OracleComparison::leaveReproducer(LoweringOp workload,
                                  const PreparedComparison &of,
                                  const worker::Verdict &verdict) {
  std::string target = workload.getTarget().str();
  SmallString<128> folder(maker.reproducersFolder());
  llvm::sys::path::append(folder, workload.getKey().take_front(8) + "-" +
                                      StringRef(target).split(':').second);
  if (llvm::Error error = createDirectories(folder.str()))
    return std::move(error);
  auto write = [&](StringRef name, StringRef text) {
    return writeFileAtomically((folder + "/" + name).str(), text);
  };
  worker::Job job = of.job;
  job.seed = int64_t(verdict.audit.seed);
  std::vector<std::pair<std::string, std::string>> files;
  if (llvm::Error error = takeFiles(job, files))
    return std::move(error);
  for (const auto &[name, content] : files)
    if (llvm::Error error = write(name, content))
      return std::move(error);
  std::string readme =
      "The oracle of this workload gives other results on " + of.job.machine +
      " than on the host:\n\n  " + verdict.reason +
      "\n\nTo see it again, with the programs that were compiled then and the "
      "same operands,\non a machine with that GPU, in this folder:\n\n"
      "  fastk-worker < job.json\n\n"
      "The workload is in workload.mlir. To see what a compiler makes of it "
      "now, search it:\n\n"
      "  fastk-opt workload.mlir --search --target=" +
      target + " --bank=bank --budget=evaluations=1\n";
  for (auto [name, text] : {std::pair("workload.mlir", StringRef(of.source)),
                            std::pair("README", StringRef(readme))})
    if (llvm::Error error = write(name, text))
      return std::move(error);
  // Last: it names the others.
  if (llvm::Error error = write("job.json", worker::toJSON(job) + "\n"))
    return std::move(error);
  return folder.str().str();
}
