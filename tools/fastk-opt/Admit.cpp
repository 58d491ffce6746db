//===- Admit.cpp - Families are admitted ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "StopOnSignal.h"
#include "fastk/Driver/AdmitFamily.h"
#include "fastk/Driver/Session.h"
#include "llvm/Support/WithColor.h"

using namespace fastk;

int fastk::runAdmission(const DriverOptions &options) {
  Session session;
  SearchRequest request;
  request.stopRequested = [] { return StopOnSignal::signal() != 0; };
  AdmitOptions admit = *options.admit;
  admit.precision = options.precision;
  admit.seed = options.search.search.seed;
  llvm::Expected<AdmitResult> result = [&] {
    StopOnSignal stop;
    return admitFamily(admit, options.search, request, &session.getContext());
  }();
  int signal = StopOnSignal::signal();
  if (!result) {
    std::string problem = llvm::toString(result.takeError());
    // What was cancelled shows up as an error.
    if (!signal) {
      llvm::WithColor::error(llvm::errs(), "fastk-opt") << problem << "\n";
      return kExitWrong;
    }
    result = AdmitResult{AdmitEnd::Interrupted, ""};
  }
  switch (result->end) {
  case AdmitEnd::Done:
    llvm::errs() << "fastk-opt: " << result->text;
    return kExitDone;
  case AdmitEnd::Refused:
    llvm::WithColor::error(llvm::errs(), "fastk-opt") << result->text;
    return kExitRefused;
  case AdmitEnd::Pending:
    return kExitPending;
  case AdmitEnd::Interrupted:
    llvm::errs() << "fastk-opt: interrupted; the same command begins anew, and "
                    "finds what a spool has answered\n";
    // As a shell says it.
    return 128 + signal;
  }
  llvm_unreachable("all ends are named above");
}
