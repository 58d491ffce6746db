//===- Bank.h - A directory of winners --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One folder per winner; docs/formats/bank.md describes the files. Reading
// never executes anything that a bank holds. A winner that cannot be used is
// never dropped silently: it is handed out as stale, with the reason.
//
// The object is an index of one directory as it was when it was opened, plus
// what was written through it. It may be used by one thread at a time; any
// number of processes may read and write the directory.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_BANK_H
#define FASTK_BANK_BANK_H

#include "fastk/Bank/RemoteBank.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Bank/WinnerHeader.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// A winner that was found and cannot be used.
struct StaleWinner {
  std::string folder;
  std::string reason;
};

/// Which winners a compile accepts.
struct WinnerFilter {
  std::string target = "host";
  /// The loosest error class.
  Precision loosest = Precision::ieee;
  /// What is compiled for. A winner for the host that was timed on another
  /// machine may be slower than the default lowering here: it is passed over,
  /// unless `anyMachine`.
  Machine machine;
  bool anyMachine = false;
  /// Only winners that gave the same bits in all runs on the same operands.
  bool requireDeterministic = false;
  /// Winners of remote banks count though nobody has judged them on `machine`:
  /// for whoever judges them.
  bool takesUnjudged = false;
  /// Instead of `loosest` for workloads that are convolutions, without products
  /// or attention beside: WorkloadMatcher::filterFor().
  std::optional<Precision> convolutions = std::nullopt;

  /// Why this winner is passed over for where it was measured; empty when it is
  /// not.
  std::string refuseMachine(const WinnerHeader &header) const;
  /// The same for what its record says of its bits.
  std::string refuseBits(const WinnerHeader &header) const;
};

/// What a bank has for one key.
struct BankLookup {
  /// The hit: parsed, verified, with its program. Null on a miss.
  std::unique_ptr<Winner> winner;
  /// Why there is no winner; empty on a hit. Names the stale ones, if that is
  /// what stood in the way.
  std::string reason;
  /// True when the reason is that the winner was measured on another machine.
  bool otherMachine = false;
  /// True when the reason is that it is not known to be deterministic.
  bool otherBits = false;
  /// True when the reason is that nobody has judged it on this machine.
  bool isUnjudged = false;
  /// True where the winner came from a server that is not trusted: what its
  /// record says that it was measured with is nobody's word.
  bool isOfStranger = false;
  /// While remote banks look ahead (BankStack::lookAhead()): one has a winner,
  /// by its index, which was noted.
  bool isExpected = false;
  /// Winners of this key that were skipped, hit or miss.
  std::vector<StaleWinner> stale;
};

/// What a write did.
enum class WriteOutcome {
  Stored,      ///< There was none.
  Replaced,    ///< The stored one was slower, or stale.
  KeptExisting ///< The stored one is as fast, faster, or the same program.
};

/// Which of two winners for one key, target, precision and machine stays. One
/// that is known to be deterministic never yields to one that is not: they
/// stand side by side.
enum class WriteRule {
  /// The one with the smaller median; a gain below 1 % is noise and changes
  /// nothing.
  KeepFaster,
  /// The new one: the two were measured side by side.
  Replace
};

struct WriteResult {
  WriteOutcome outcome = WriteOutcome::Stored;
  std::string folder;
};

/// One winner's folder, as `list` and `verify` see it.
struct BankEntry {
  std::string folder;
  /// Set when the head of lowering.mlir could be read.
  std::optional<WinnerHeader> header;
  /// Why it could not.
  std::string problem;
};

class Bank {
public:
  /// Opens a bank. A directory that does not exist is an empty bank: it is made
  /// by the first write. Cheap: it lists folders, and reads no file of a folder
  /// that is named as write() names it. Winners that are spread (docs/formats/
  /// bank.md) are not even listed. Of a remote bank, whose `directory` is its
  /// URL, nothing is asked yet; `patience` is for its server.
  static llvm::Expected<Bank> open(llvm::StringRef directory,
                                   Patience patience = Patience::Compile);

  /// The folder, or the URL with its options.
  llvm::StringRef getDirectory() const { return directory; }
  /// The bank behind HTTP; null for a folder. It is read by lookup() alone:
  /// lists of such a Bank are empty, and it is not written.
  RemoteBank *getRemote() const { return remote.get(); }
  /// How many winners there are. Lists all folders.
  size_t size() const;

  /// The best winner of `key` that `filter` accepts: the fastest of those that
  /// were measured on its machine; else, of those from anywhere, the one that
  /// gained most over the default lowering. It is parsed in `context`, whose
  /// dialects decide what can be read.
  BankLookup lookup(llvm::StringRef key, const WinnerFilter &filter,
                    mlir::MLIRContext *context) const;

  /// Stores a module made by buildWinner(), with the trajectory's JSON text. A
  /// reader sees the whole winner or none of it. Of two winners for one key,
  /// target, precision and machine one stays, by `rule`. Winners of different
  /// machines stand side by side, and beside the fastest one that is not known
  /// to be deterministic the fastest that is. A stale winner of the same name
  /// is replaced.
  llvm::Expected<WriteResult> write(mlir::ModuleOp winner,
                                    llvm::StringRef trajectory,
                                    WriteRule rule = WriteRule::KeepFaster);

  /// An error where write() could not store anything. Makes the folder.
  llvm::Error checkWrites() const;

  /// The most reductions (contractions, convolutions, sums) that a pattern for
  /// `target` has; none without a winner for it. Reads the heads that changed
  /// since the last time anyone asked: the others' answers are in the user's
  /// cache, for banks of a hundred winners and more. Of spread winners their
  /// place says it.
  std::optional<unsigned> mostReductions(llvm::StringRef target) const;

  /// Every folder with its head, in order of folder name; spread ones last.
  std::vector<BankEntry> list() const;

  /// The same of those alone that are not spread.
  std::vector<BankEntry> listUnspread() const;

  /// The same of those alone that may be of winners displayed as `name`, or of
  /// `key` where it is not empty, as far as their folders' names tell.
  std::vector<BankEntry> listNamed(llvm::StringRef name,
                                   llvm::StringRef key = "") const;

  /// Reads one winner in full: parses, verifies the key, checks the program's
  /// digest. The error says why it is stale.
  static llvm::Expected<std::unique_ptr<Winner>>
  load(llvm::StringRef folder, mlir::MLIRContext *context);

  /// The text of --explain-miss: the winners nearest to a missed workload, and
  /// what keeps each from matching.
  std::string explainMiss(llvm::StringRef key, const WinnerFilter &filter,
                          llvm::StringRef name, llvm::StringRef shapes,
                          mlir::MLIRContext *context) const;

private:
  /// A folder, and the eight hex digits its name ends in ("" if it does not:
  /// the name was changed by hand, and the head says the key).
  struct IndexEntry {
    std::string folder;
    std::string key8;
  };

  /// A folder of spread winners, whose patterns have so many reductions.
  struct SpreadFolder {
    std::string path;
    unsigned reductions;
  };

  static llvm::Expected<Bank> openRemote(llvm::StringRef text,
                                         Patience patience);
  void index(llvm::StringRef folder);
  void
  visitSpread(llvm::function_ref<void(const IndexEntry &entry)> visit) const;
  static BankEntry readListed(const IndexEntry &entry);
  /// Whether the folder of a target has so many winners that further ones are
  /// spread.
  bool isMany(llvm::StringRef target) const;
  std::vector<BankEntry> entriesOf(llvm::StringRef key) const;
  /// The same of what this object knows of; `isGone` is set where some of it is
  /// not there any more.
  std::vector<BankEntry> entriesNow(llvm::StringRef key, bool &isGone) const;
  std::optional<unsigned> mostReductionsNow(llvm::StringRef target,
                                            bool &isGone) const;

  std::string directory;
  std::shared_ptr<RemoteBank> remote;
  std::vector<SpreadFolder> spread;
  std::vector<IndexEntry> entries;
  /// Folder to its place in `entries`, and key digits to places.
  llvm::StringMap<unsigned> positions;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> byDigits;
  /// Keys to places, of folders without digits; read at the first lookup.
  mutable std::optional<llvm::StringMap<llvm::SmallVector<unsigned, 1>>>
      unnamed;
};

/// Several banks; the first that has a winner wins, one measured on the
/// filter's machine before any other, and new winners go to the first folder.
class BankStack {
public:
  static llvm::Expected<BankStack>
  open(llvm::ArrayRef<std::string> directories);

  BankLookup lookup(llvm::StringRef key, const WinnerFilter &filter,
                    mlir::MLIRContext *context) const;
  std::optional<unsigned> mostReductions(llvm::StringRef target) const;
  llvm::Expected<WriteResult> write(mlir::ModuleOp winner,
                                    llvm::StringRef trajectory);
  /// Looks at the folders again, for what other processes have stored.
  llvm::Error reopen();
  /// Bank::checkWrites() of the one that write() stores in.
  llvm::Error checkWrites() const;
  std::string explainMiss(llvm::StringRef key, const WinnerFilter &filter,
                          llvm::StringRef name, llvm::StringRef shapes,
                          mlir::MLIRContext *context) const;
  llvm::ArrayRef<Bank> getBanks() const { return banks; }
  /// The one that write() stores in; null where all are remote.
  const Bank *getWritable() const;

  bool hasRemote() const;
  /// RemoteBank::lookAhead() of all.
  void lookAhead(bool start) const;
  /// RemoteBank::fetchNoted() of all: the keys that lookup() may answer
  /// otherwise now.
  std::vector<std::string> fetchNoted() const;
  /// What has to be said of remote banks, each once.
  std::vector<std::string> takeWarnings() const;

private:
  std::vector<Bank> banks;
};

/// Where winners are looked for without --bank: the folders and URLs of
/// $FASTK_BANK (separated by ':'), the user's cache ($XDG_CACHE_HOME/fastk/bank
/// or
/// ~/.cache/fastk/bank), the shipped bank beside the executable (../winners).
std::vector<std::string> defaultBanks(llvm::StringRef executable);

} // namespace fastk

#endif // FASTK_BANK_BANK_H
