//===- Tool.h - What the commands of fastk-bank share -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_TOOL_H
#define FASTK_TOOLS_FASTK_BANK_TOOL_H

#include "fastk/Bank/Bank.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <string>
#include <vector>

namespace fastk::bank {

constexpr int kExitDone = 0;
constexpr int kExitWrong = 1;
/// Something was refused: stale, wrong, or not faster.
constexpr int kExitRefused = 2;

/// A winner, read as far as the subcommand needs it.
struct Row {
  BankEntry entry;
  std::string bank;
  std::unique_ptr<Winner> winner;
  /// Of a remote bank's winner.
  std::string digest;
};

struct Options;

/// The winners of a remote bank that the options ask for. Where `fetches` they
/// are in the cache afterwards; else there is the index's word alone.
llvm::Expected<std::vector<Row>>
collectRemoteRows(RemoteBank &bank, const Options &options, bool fetches);
/// Whether the options ask for this winner.
bool isAskedFor(const WinnerHeader &header, const Options &options);

/// Judges the winners of remote banks that compiles on this machine wanted, and
/// keeps the judgements.
int judge(const Options &options, const std::string &executable,
          mlir::MLIRContext &context);
/// Brings the winners of one bank into another; one of them is remote.
int sync(const Options &options, const std::string &executable,
         mlir::MLIRContext &context);

/// Brings families to a bank behind HTTP, or from one into a folder.
int syncFamilies(const Options &options);

/// Prints the error; its exit code.
int reportError(const llvm::Twine &message);
/// "1.25 ms", with three digits.
std::string formatTime(double nanoseconds);
/// "1.25x"; "-" for what is unknown.
std::string formatRatio(double ratio);

/// Columns as wide as what is in them.
void printTable(const std::vector<std::vector<std::string>> &rows,
                llvm::raw_ostream &os);

/// Reads every winner in full, or says in its entry why it is stale.
void loadAll(std::vector<Row> &rows, mlir::MLIRContext &context);

/// What the header of a winner says; the row has one.
llvm::json::Object headerJson(const Row &row);
/// Prints one line per winner.
int listWinners(const std::vector<Row> &rows, bool asJson);
/// What show adds of winners for GPUs.
struct ShowOptions {
  bool asJson = false;
  /// Their PTX, their machine code, what ptxas says that they need.
  bool ptx = false, sass = false, resources = false;
  /// This program: the compiler is beside it.
  std::string executable;

  bool needsCode() const { return ptx || sass || resources; }
};

/// Prints all that is known of each winner.
int showWinners(const std::vector<Row> &rows, const ShowOptions &options);
/// Prints how many are stale, and which.
int verifyWinners(const std::vector<Row> &rows, bool asJson);

/// Lists the families of folders, none: the shipped ones, and whether they are
/// admitted.
int listFamilies(std::vector<std::string> folders);
/// Writes the family of which a winner's folder, or a program's file, has an
/// instance as a new folder.
int extractFamily(const std::string &from, const std::string &to);

/// `trajectory.json` of a winner's folder; an empty object when it has none.
std::string readTrajectory(llvm::StringRef folder);

struct MergeOptions {
  /// Compare recorded times instead of measuring again.
  bool byRecord = false;
  /// Refuse what gives other bits for the same operands.
  bool requireDeterministic = false;
  unsigned threads = 0;
  /// This program: the compiler and the worker are beside it.
  std::string executable;
};

/// Puts the winners of `rows` into the bank `into`. What is refused is named on
/// stdout, as is what is stored.
int merge(llvm::StringRef into, std::vector<Row> &rows,
          const MergeOptions &options, mlir::MLIRContext &context);

/// What the judge says of one winner: "holds", "fails", "not measured" or
/// "stale", on which machine, and why.
using OnJudged =
    llvm::function_ref<void(const Row &row, llvm::StringRef word,
                            const Machine &machine, llvm::StringRef why)>;

/// Measures each winner of `rows` that was loaded on this machine.
int verifyByMeasuring(std::vector<Row> &rows, const MergeOptions &options,
                      bool asJson, OnJudged onJudged = nullptr);

/// Lists what no compile uses, or removes it.
int prune(llvm::ArrayRef<std::string> banks, bool remove, bool asJson,
          mlir::MLIRContext &context);

/// Moves the winners of banks to where a bank of very many has them.
int spread(llvm::ArrayRef<std::string> banks);

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_TOOL_H
