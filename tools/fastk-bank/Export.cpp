//===- Export.cpp - Winners for others
//--------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

int fastk::bank::exportWinners(StringRef to, std::vector<Row> &rows,
                               MLIRContext &context) {
  llvm::Expected<Bank> bank = Bank::open(to);
  if (!bank)
    return reportError(llvm::toString(bank.takeError()));
  size_t written = 0, there = 0, stale = 0;
  for (Row &row : rows) {
    if (!row.winner) {
      ++stale;
      llvm::outs() << "left out: " << row.entry.folder
                   << ": stale: " << row.entry.problem << "\n";
      continue;
    }
    llvm::Expected<WriteResult> result =
        bank->write(*row.winner->module, readTrajectory(row.winner->folder));
    if (!result)
      return reportError(llvm::toString(result.takeError()));
    ++(result->outcome == WriteOutcome::KeptExisting ? there : written);
  }
  llvm::outs() << written << (written == 1 ? " winner" : " winners")
               << " written to " << to << ", " << there << " there already, "
               << stale << " stale and left out\n";
  return stale > 0 ? kExitRefused : kExitDone;
}
