//===- Spool.cpp - Evaluations that another machine makes -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Spool.h"
#include "fastk/Evaluate/OracleComparison.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>

using namespace mlir;
using namespace fastk;

/// Writing a job takes milliseconds; whoever holds the lock longer is in
/// trouble.
static constexpr double kLockSeconds = 30;

/// Far above any verdict; a bound for a stray file.
static constexpr size_t kFileLimit = 64 << 20;

namespace {
class Spool : public Evaluator {
public:
  explicit Spool(SpoolOptions given) : options(std::move(given)) {}
  llvm::Error prepare() {
    if (llvm::Error error = createDirectories(options.directory))
      return error;
    if (llvm::Error error = JobMaker::create(options.jobs).moveInto(maker))
      return error;
    comparison.emplace(*maker);
    return llvm::Error::success();
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &) override {
    maker->expect(languages);
    return llvm::Error::success();
  }
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    llvm::Expected<Provenance> parts = maker->provenance(workload, context);
    // Which worker will answer is not known here.
    if (parts)
      parts->insert(parts->begin(), {"worker", "answers a spool"});
    return parts;
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override;
  std::string pendingHint() const override {
    return "fastk-worker --spool " + options.directory;
  }

private:
  /// The answer to a job, which is written where it is not there yet.
  llvm::Expected<std::optional<worker::Verdict>>
  ask(worker::Job &job, llvm::StringRef candidateDigest, int repeat,
      int failures);
  llvm::Error write(const worker::Job &job,
                    llvm::ArrayRef<std::pair<std::string, std::string>> files);

  SpoolOptions options;
  std::unique_ptr<JobMaker> maker;
  std::optional<OracleComparison> comparison;
};
} // namespace

llvm::Expected<std::optional<worker::Verdict>>
Spool::ask(worker::Job &job, StringRef candidateDigest, int repeat,
           int failures) {
  // The programs under plain names, and what they hold.
  std::vector<std::pair<std::string, std::string>> files;
  if (llvm::Error error = takeFiles(job, files))
    return std::move(error);

  // The name tells what is evaluated: neither what is known of the machine's
  // rates by now nor who was first in a batch makes another job of it.
  worker::Job named = job;
  named.floorNs = 0;
  named.validate.competitors = false;
  std::string text = worker::toJSON(named);
  for (const auto &[name, content] : files)
    text +=
        "\n" + name + " " +
        (name == job.candidate.path ? candidateDigest.str() : sha256(content));
  if (repeat > 0)
    text += "\nrepeat " + std::to_string(repeat);
  // What failed is another job: its answer stays where it is.
  if (failures > 0)
    text += "\nfailures " + std::to_string(failures);
  job.id = "job-" + sha256(text).substr(0, 32);

  std::string folder = options.directory + "/" + job.id;
  if (!llvm::sys::fs::exists(folder + "/job.json")) {
    if (llvm::Error error = write(job, files))
      return std::move(error);
    return std::nullopt;
  }
  std::string path = folder + "/verdict.json";
  if (!llvm::sys::fs::exists(path))
    return std::nullopt;
  auto broken = [&](const llvm::Twine &problem) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   path + ": " + problem +
                                       "; remove it and answer again with `" +
                                       pendingHint() + "`");
  };
  llvm::Expected<std::string> answer =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!answer)
    return answer.takeError();
  std::string problem;
  std::optional<worker::Verdict> verdict =
      worker::parseVerdict(*answer, problem);
  if (!verdict)
    return broken(problem);
  if (verdict->id != job.id)
    return broken("is the verdict on '" + verdict->id + "', of another job");
  return verdict;
}

llvm::Expected<std::optional<worker::Verdict>>
Spool::evaluate(const EvaluationRequest &request,
                const RequestContext &context) {
  llvm::Expected<PreparedJob> prepared =
      maker->make(request, request.promote || request.firstOfBatch, context);
  if (!prepared)
    return prepared.takeError();
  if (prepared->verdict)
    return std::move(prepared->verdict);
  llvm::Expected<OracleComparison::Answer> oracles = comparison->check(
      request.workload,
      [&](worker::Job &job) {
        return ask(job, /*candidateDigest=*/"", /*repeat=*/0, /*failures=*/0);
      },
      context);
  if (!oracles)
    return oracles.takeError();
  if (oracles->verdict)
    return std::move(oracles->verdict);
  // Both are asked at once, and without the comparison no verdict counts.
  llvm::Expected<std::optional<worker::Verdict>> verdict =
      ask(prepared->job, prepared->candidateDigest, request.repeat,
          request.failures);
  if (verdict && oracles->isPending)
    verdict->reset();
  return verdict;
}

llvm::Error
Spool::write(const worker::Job &job,
             llvm::ArrayRef<std::pair<std::string, std::string>> files) {
  llvm::Expected<FileLock> lock =
      FileLock::acquire(options.directory + "/.lock",
                        "the spool " + options.directory, kLockSeconds);
  if (!lock)
    return lock.takeError();
  std::string final = options.directory + "/" + job.id;
  // Hidden until it is whole: a worker may be looking. What is found there
  // under the lock was left by a process that died.
  std::string temporary = options.directory + "/.tmp";
  llvm::scope_exit cleanUp(
      [&] { llvm::sys::fs::remove_directories(temporary); });
  llvm::sys::fs::remove_directories(temporary);
  auto writeAll = [&]() -> llvm::Error {
    if (llvm::Error error = createDirectories(temporary))
      return error;
    for (const auto &[name, content] : files)
      if (llvm::Error error = writeNewFile(temporary + "/" + name, content))
        return error;
    if (llvm::Error error =
            writeNewFile(temporary + "/job.json", worker::toJSON(job) + "\n"))
      return error;
    return syncDirectory(temporary);
  };
  if (llvm::Error error = writeAll())
    return nameInstead(std::move(error), temporary, final);
  // What stands there without a job.json is no job.
  if (::rename(temporary.c_str(), final.c_str()) != 0) {
    int errnum = errno;
    if (errnum != EEXIST && errnum != ENOTEMPTY)
      return fileError(final, "store the job", errnum);
    // Another search may have been faster: its job is this one.
    if (llvm::sys::fs::exists(final + "/job.json"))
      return llvm::Error::success();
    return llvm::createStringError(
        final + ": stands in the way of a job and holds no job.json; remove "
                "the folder");
  }
  return syncDirectory(options.directory);
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createSpool(SpoolOptions options) {
  auto spool = std::make_unique<Spool>(std::move(options));
  if (llvm::Error error = spool->prepare())
    return std::move(error);
  return spool;
}
