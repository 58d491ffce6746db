//===- RemoteBank.h - A bank behind HTTP ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read through: what is asked for comes from the server once, by its digest,
// and lies in the user's cache ever after (docs/remote-bank.md). A server that
// is not there is one warning. What comes is checked as any bank's winners are
// when they are read; before a compile uses it the judge has to have held it
// for right on this machine, unless the user trusts the bank.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_REMOTEBANK_H
#define FASTK_BANK_REMOTEBANK_H

#include "fastk/Bank/WinnerHeader.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

struct BankEntry;
struct WinnerFilter;

/// True for what begins with https:// or http://.
bool isRemoteBank(llvm::StringRef text);

/// Whether such a text says that the bank is trusted.
bool isTrustedBank(llvm::StringRef text);

/// How long servers are waited for: 2 s for each request, or a minute.
enum class Patience { Compile, Transfer };

/// A winner as a remote bank's index has it. Proves nothing.
struct RemoteWinner {
  /// Of its object; its name in the bank.
  std::string digest;
  uint64_t bytes = 0;
  WinnerHeader header;
};

class RemoteBank {
public:
  /// `text` is https://HOST/PATH[#OPTIONS] (docs/remote-bank.md). Asks nobody
  /// yet. An error says what is wrong with the text; where libcurl is missing
  /// all that is said later is a warning.
  static llvm::Expected<std::shared_ptr<RemoteBank>>
  open(llvm::StringRef text, Patience patience = Patience::Compile);
  virtual ~RemoteBank();

  /// The URL, without options.
  virtual std::string shown() const = 0;
  virtual bool isTrusted() const = 0;

  /// As Bank's; asks for the index, once.
  virtual std::optional<unsigned> mostReductions(llvm::StringRef target) = 0;
  /// Winners of all targets.
  virtual uint64_t size() = 0;

  /// What the bank has for one key. The folders are the cache's: winners that
  /// the filter takes are fetched, of the others there is the index's word.
  struct Found {
    std::vector<BankEntry> entries;
    /// Why a winner that would be used is not among them; empty: there is none.
    std::string missing;
    /// True where that is, or may be, the judge's business.
    bool isUnjudged = false;
    /// While it looks ahead: the index has a winner, which was noted.
    bool isExpected = false;
  };
  virtual Found find(llvm::StringRef key, const WinnerFilter &filter) = 0;

  /// While it looks ahead, find() asks nobody: what it would ask for is noted,
  /// and not found.
  virtual void lookAhead(bool start) = 0;
  /// Asks for all that was noted, at once. The keys for which it was.
  virtual std::vector<std::string> fetchNoted() = 0;

  /// All winners of `target`, or of all targets for "". An error says why they
  /// cannot be listed.
  virtual llvm::Expected<std::vector<RemoteWinner>>
  list(llvm::StringRef target = "") = 0;
  /// Their folders in the cache, in their order; where one cannot be had the
  /// entry has a problem.
  virtual std::vector<BankEntry>
  fetch(llvm::ArrayRef<RemoteWinner> winners) = 0;

  /// Whether a compile on this machine wanted it and nobody had judged it.
  virtual bool isWanted(const RemoteWinner &winner) = 0;
  /// Keeps what the judge said of it on a machine (Machine::str()): empty, it
  /// holds; else why it does not.
  virtual llvm::Error writeJudgement(llvm::StringRef digest,
                                     llvm::StringRef machine,
                                     llvm::StringRef problem) = 0;

  /// What has to be said of the server, each once.
  virtual std::vector<std::string> takeWarnings() = 0;
};

} // namespace fastk

#endif // FASTK_BANK_REMOTEBANK_H
