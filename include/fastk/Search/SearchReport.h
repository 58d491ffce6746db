//===- SearchReport.h - What a search found, for people and programs ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_SEARCHREPORT_H
#define FASTK_SEARCH_SEARCHREPORT_H

#include "fastk/Bank/Winner.h"
#include "fastk/Search/Search.h"
#include "llvm/Support/JSON.h"

namespace fastk {

/// The trajectory table: round, time, % of baseline, % of floor, precision,
/// idea; then why the search ended and what was found. `title` is printed
/// above.
void printTrajectory(const SearchResult &result, llvm::StringRef title,
                     llvm::raw_ostream &os);

/// The text of a winner's trajectory.json (docs/formats/bank.md).
std::string trajectoryJson(const SearchInput &input,
                           const SearchOptions &options,
                           const SearchResult &result);

/// One element of `workloads` in the file of --report (docs/formats/report.md).
llvm::json::Object reportJson(const SearchInput &input,
                              const SearchOptions &options,
                              const SearchResult &result);

/// The file of --report around them, replaced atomically.
llvm::Error writeReport(llvm::StringRef path, llvm::json::Array workloads);

/// The record of `result.winner`, which must be set.
WinnerRecord winnerRecord(const SearchInput &input,
                          const SearchOptions &options,
                          const SearchResult &result);

/// `result.winner` as Bank::write() takes it.
mlir::OwningOpRef<mlir::ModuleOp> winnerModule(const SearchInput &input,
                                               const SearchOptions &options,
                                               const SearchResult &result);

} // namespace fastk

#endif // FASTK_SEARCH_SEARCHREPORT_H
