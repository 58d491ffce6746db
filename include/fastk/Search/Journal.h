//===- Journal.h - The append-only log of one search ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search's only state. A search is a deterministic procedure whose effects
// (what a proposer said, what an evaluation found) are recorded here under a
// name; asked again, it finds the answer here. So a search that was killed goes
// on by running again from the start, and nothing that was recorded is done a
// second time. docs/formats/journal.md describes the files.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_JOURNAL_H
#define FASTK_SEARCH_JOURNAL_H

#include "fastk/LLM/LanguageModel.h"
#include "fastk/Propose/LLM/RecordedSearch.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// What a journal belongs to, name by name.
struct JournalBinding {
  using Values = std::vector<std::pair<std::string, std::string>>;
  /// The user's choice: key, target, precision, options, seed. Another one is
  /// an error, for the journal is that of another search.
  Values search;
  /// What made the verdicts: versions, and the content of the worker, the
  /// baseline and the oracle. Where it differs the verdicts are of something
  /// else: the file is set aside and the search starts afresh.
  Values madeBy;
  /// Recorded as `madeBy` is, for whoever reads the journal. No verdict rests
  /// on them: neither on what they are nor on what the journal says they were.
  Values unused = {};
  /// Of the workload, for whoever reads the journal; compared with nothing.
  struct About {
    std::string name, shapes;
    /// The workload as text, constants left out.
    std::string ir;
    double floorSeconds = 0;
  };
  About about = {};
};

/// An exchange with a language model of which nothing came.
struct FailedExchange {
  /// Of the prompt, for people.
  std::string prompt;
  std::string model;
  ReplyStatus status = ReplyStatus::Failed;
  ModelFailure failure = ModelFailure::None;
  std::string problem;
};

class Journal {
public:
  /// What a search begins with is recorded under these names.
  static constexpr llvm::StringLiteral kSeeds = "seeds";
  static constexpr llvm::StringLiteral kKnownIdeas = "bank";

  /// Opens `directory`, and makes it when there is none. Locks it: one search
  /// at a time. A last line that a crash cut is dropped, a file that was made
  /// by another fastk is renamed to journal.N.jsonl, and note() says so; any
  /// other damage is an error that names the line.
  static llvm::Expected<std::unique_ptr<Journal>>
  open(llvm::StringRef directory, const JournalBinding &binding);
  ~Journal();

  struct Spent {
    int64_t evaluations = 0;
    double seconds = 0;
    /// Of language models.
    int64_t tokens = 0;
    double usd = 0;
  };
  /// What the search whose journal is in `directory` has spent, for those who
  /// share a budget with it. Reads what can be read and says nothing of the
  /// rest: zero where there is no journal.
  static Spent spentIn(llvm::StringRef directory);
  /// What the search whose journal is in `directory` was told: its exchanges
  /// and verdicts, in the order of their times, and what the journal is bound
  /// to. Nothing where there is no journal. Changes nothing, and needs no lock:
  /// what another process appends meanwhile is there or not.
  static llvm::Expected<std::optional<RecordedSearch>>
  recordedIn(llvm::StringRef directory);

  /// Empty, or what was dropped or set aside when the journal was opened: for
  /// whoever opened it to show.
  llvm::StringRef note() const { return noteText; }
  /// Events that were there when it was opened, the header not counted.
  size_t resumedEvents() const { return resumed; }
  /// True when there was an event of the search itself among them: all but what
  /// it begins with.
  bool hasBegun() const { return begun; }
  /// Seconds of searching behind the last event.
  double elapsedSeconds() const { return elapsed; }

  /// What is recorded under `name`, with the seconds behind it.
  template <typename T>
  struct Recorded {
    T value;
    double elapsed;
  };
  std::optional<Recorded<std::vector<Idea>>> findIdeas(llvm::StringRef name);
  llvm::Expected<std::optional<Recorded<std::vector<Variant>>>>
  findVariants(llvm::StringRef name);
  /// Not one that is to be made again.
  std::optional<Recorded<worker::Verdict>> findVerdict(llvm::StringRef name);
  /// How often an evaluation failed through no fault of its variant.
  int failedEvaluations(llvm::StringRef name) const;
  llvm::Expected<std::optional<Recorded<Reply>>>
  findExchange(llvm::StringRef name);
  /// What each recorded exchange cost, by name; several times the same name
  /// where what failed was asked again.
  std::vector<std::pair<std::string, Usage>> exchangeUsages() const;
  /// The exchanges of which nothing came, with their names in the journal.
  std::vector<std::pair<std::string, FailedExchange>> failedExchanges() const;
  /// Names of those that have a usable reply.
  std::vector<std::string> usableExchanges() const;
  /// True when ideas were asked for after round `number`: what was decided in
  /// it stays.
  bool hasRoundAfter(int number) const;

  /// What is known of a device may become more, by calibration or in a quieter
  /// moment; floors and prompts would be others. So a search goes on with what
  /// it began with: that takes the place of `device`, or `device` is recorded.
  llvm::Error recallDevice(TargetDescription &device);

  /// What was recorded since the journal was opened is found from now on, as
  /// what was there then is: for a run that asks again.
  llvm::Error goOn();
  /// Whether what is found under `name`, of one of these types, was recorded
  /// since the journal was opened: nothing of it is asked for once more, as an
  /// earlier run's failure is.
  enum class EventType { Ideas, Variants, Evaluation, Exchange };
  bool isOfThisRun(EventType type, llvm::StringRef name) const;

  /// Records an event durably: when this returns, a crash no longer loses it.
  /// Numbers that the search chose by what may differ when it is resumed: set
  /// to what is recorded under `name`, else recorded.
  llvm::Error recallCounts(llvm::StringRef name, std::vector<int> &counts,
                           double elapsed);
  llvm::Error recordIdeas(llvm::StringRef name, llvm::ArrayRef<Idea> ideas,
                          double elapsed);
  llvm::Error recordVariants(llvm::StringRef name,
                             llvm::ArrayRef<Variant> variants, double elapsed);
  llvm::Error recordVerdict(llvm::StringRef name,
                            const worker::Verdict &verdict, double elapsed);
  /// These evaluations failed through no fault of their variants, and the
  /// search ended with that: findVerdict() has nothing on them in later runs,
  /// on each until another verdict is recorded.
  llvm::Error recordUnjudged(llvm::ArrayRef<std::string> names, double elapsed);
  llvm::Error recordExchange(llvm::StringRef name, const Prompt &prompt,
                             const Reply &reply, double elapsed);

private:
  Journal(std::string directory, std::optional<FileLock> lock)
      : directory(std::move(directory)), lock(std::move(lock)) {}

  struct Event {
    llvm::json::Object fields;
    std::optional<worker::Verdict> verdict;
    double elapsed = 0;
    /// Verdicts `error` among those recorded.
    int failures = 0;
    /// Recorded since the journal was opened.
    bool isOfThisRun = false;
  };

  std::string filePath() const { return directory + "/journal.jsonl"; }
  /// Opens the file for appending, and makes it when there is none.
  llvm::Error openFile();
  /// Without a binding anything is taken, and the file is left alone.
  llvm::Error read(const JournalBinding *binding);
  llvm::Error readLine(llvm::StringRef line, size_t number,
                       const JournalBinding *binding);
  llvm::Error append(llvm::StringRef body);
  llvm::Expected<std::string> storeProgram(const Variant &variant);
  /// Programs and texts are files, named by the SHA-256 of their content.
  llvm::Error storeFile(const std::string &path, llvm::StringRef content);
  llvm::Expected<std::string> loadFile(const std::string &path,
                                       llvm::StringRef digest);
  std::optional<TargetDescription> findDevice() const;
  const Event *find(llvm::StringRef type, llvm::StringRef name) const;

  /// Whether an event may take the place of `earlier`, of the same type and
  /// name: of exchanges, what was made of them and evaluations, after a
  /// failure.
  static bool replaces(const llvm::json::Object &later, const Event &earlier);
  llvm::Error readHeader(const llvm::json::Object &header,
                         const JournalBinding *binding);
  /// Keeps the file under another name and starts an empty one.
  llvm::Error setAside();

  std::string directory;
  std::optional<FileLock> lock;
  JournalBinding::Values bound;
  std::string noteText;
  llvm::StringMap<Event> events;
  /// Events that were recorded since it was opened and are not among `events`.
  std::vector<std::string> added;
  /// What readLine() has read last.
  Event *lastRead = nullptr;
  /// Of exchanges that were asked again.
  std::vector<std::pair<std::string, Usage>> earlierUsages;
  int lastRound = 0;
  /// Names of evaluations that are to be made again.
  llvm::StringSet<> unjudged;
  size_t resumed = 0;
  bool begun = false;
  double elapsed = 0;
  int descriptor = -1;
  /// Length of the file up to the last whole line.
  uint64_t length = 0;
  bool hasHeader = false;
  /// What made this journal and differs, in words; empty when nothing does.
  std::string madeByOthers;
};

} // namespace fastk

#endif // FASTK_SEARCH_JOURNAL_H
