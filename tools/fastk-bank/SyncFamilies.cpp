//===- SyncFamilies.cpp - Families to a bank behind HTTP, and back --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Outcomes.h"
#include "Tool.h"
#include "fastk/Bank/RemoteBank.h"
#include "fastk/Bank/RemoteFamilies.h"
#include "fastk/Families/Family.h"
#include "llvm/Support/FileSystem.h"

using namespace fastk;
using namespace fastk::bank;
using families::Family;

/// "sm_90a" of "cuda:sm_90a", as folders of families are named.
static std::string folderOfTarget(llvm::StringRef target) {
  target.consume_front("cuda:");
  return target.str();
}

/// The families of a folder that the options ask for.
static llvm::Expected<std::vector<FamilyFolder>>
familiesToSend(const std::string &from, const std::string &onlyTarget) {
  if (!llvm::sys::fs::is_directory(from))
    return llvm::createStringError(from + ": no such folder; name one that "
                                          "has families, as families/sm_90a");
  llvm::Expected<std::vector<Family>> read =
      llvm::sys::fs::exists(from + "/family.json")
          ? llvm::createStringError(from + ": is a family; name the folder "
                                           "that it is in")
          : families::readFamilies(from);
  if (!read)
    return read.takeError();
  std::vector<FamilyFolder> families;
  for (const Family &family : *read)
    if (onlyTarget.empty() || family.isFor(onlyTarget))
      families.push_back({family.target, family.name, family.folder});
  return families;
}

/// What is wrong with a family that came for a target.
static llvm::Error checkArrived(const FamilyFolder &arrived) {
  llvm::Expected<Family> family = families::readFamily(arrived.folder);
  if (!family)
    return family.takeError();
  if (family->target != arrived.target)
    return llvm::createStringError("is for " + family->target + ", not for " +
                                   arrived.target);
  return llvm::Error::success();
}

int fastk::bank::syncFamilies(const Options &options) {
  const std::string &from = options.directories[0],
                    &to = options.directories[1];
  if (isRemoteBank(from) == isRemoteBank(to))
    return reportError("sync --families is between a folder of families and a "
                       "URL: fastk-bank sync --families families "
                       "https://HOST/PATH, or the other way round");
  Outcomes outcomes = Outcomes::ofFamilies();
  if (isRemoteBank(from)) {
    if (llvm::Error error = pullFamilies(
            from, to, folderOfTarget(options.onlyTarget), options.replaces,
            checkArrived,
            [&](const SyncOutcome &outcome) { outcomes.tell(outcome); }))
      return reportError(llvm::toString(std::move(error)) +
                         (outcomes.isEmpty() ? ""
                                             : "\nwhat came until now stays; "
                                               "the same command goes on"));
    return outcomes.finish();
  }
  llvm::Expected<std::vector<FamilyFolder>> families =
      familiesToSend(from, options.onlyTarget);
  if (!families)
    return reportError(llvm::toString(families.takeError()));
  llvm::Expected<std::vector<SyncOutcome>> sent =
      pushFamilies(to, *families, options.replaces);
  if (!sent)
    return reportError(llvm::toString(sent.takeError()));
  for (const SyncOutcome &outcome : *sent)
    outcomes.tell(outcome);
  return outcomes.finish();
}
