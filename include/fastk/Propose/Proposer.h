//===- Proposer.h - Where ideas and variants come from ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the search and whatever proposes: the built-in catalog,
// a folder of hand-written variants, a language model. A proposer holds no
// state of a search: everything it may depend on is in the request, so that a
// search that is resumed from its journal asks and gets the same.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_PROPOSER_H
#define FASTK_PROPOSE_PROPOSER_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "fastk/Protocol/Verdict.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fastk {

class Exchanges;
struct Roofline;
struct TargetDescription;
struct WorkloadFeatures;

/// The six categories of ideas, as the design names them.
enum class IdeaCategory {
  MemoryAccess,
  Latency,
  Precision,
  Compute,
  Parallelism,
  ControlFlow
};
llvm::StringRef stringify(IdeaCategory category);
std::optional<IdeaCategory> parseIdeaCategory(llvm::StringRef text);

/// A proposed transformation in natural language.
struct Idea {
  /// Unique within a search and stable across runs: "catalog/pack-panels",
  /// "files/my-kernel".
  std::string id;
  IdeaCategory category = IdeaCategory::MemoryAccess;
  /// A few words, for tables.
  std::string title;
  /// What to do and why it should pay, in full sentences.
  std::string text;
  /// digestOf() the variant it builds on; empty: it starts afresh.
  std::string parent = {};
};

/// One realisation of an idea.
struct Variant {
  std::string ideaId;
  Language language = Language::c;
  /// The program's text: C source, a transform-dialect module, CUDA-C device
  /// code, or a gpu.module.
  std::string program;
  /// How a program in language `cuda` or `gpu` is launched; nothing for the
  /// others. It may break the rules of the target: evaluators check it.
  std::optional<worker::LaunchPlan> plan;
  /// Scratch bytes a program without a plan wants.
  int64_t workspaceBytes = 0;
  /// The numeric parameters this realisation was made with ("mr" -> 6). Values
  /// are already in the program's text; they are kept to be swept and shown.
  std::map<std::string, int64_t> parameters;
  /// digestOf() the variant that it was made from: the idea's parent, the one
  /// that it mends or whose numbers it changes. Empty: none.
  std::string parent = {};
  /// Why this is no program: the reply that was to hold it cannot be read.
  /// Empty for all others. It is never evaluated, but can be mended.
  std::string problem = {};
};

/// Names a variant: SHA-256 of language, workspace, plan and program, and of
/// its problem where it has one.
std::string digestOf(const Variant &variant);

/// What became of a variant, as a proposer may see it.
struct TriedVariant {
  Variant variant;
  /// The idea that it realises.
  Idea idea = {};
  /// Status and reason of its verdict; "ok" when it passed, "unreadable" when
  /// there was no program.
  std::string status;
  std::string reason;
  /// Median seconds; 0 unless the status is "ok" or "slow".
  double seconds = 0;
  double baselineSeconds = 0;
  int round = 0;
  /// Null where there was nothing to evaluate.
  std::shared_ptr<const worker::Verdict> verdict = nullptr;
};

/// The workload to be made fast. All references outlive the request.
struct ProposalContext {
  /// The pattern as a `fastk.lowering` of language `default`.
  LoweringOp workload;
  const WorkloadFeatures &features;
  const Roofline &roofline;
  const TargetDescription &target;
  Precision acceptedPrecision = Precision::ieee;
  int threads = 1;
  double baselineSeconds = 0;
  double floorSeconds = 0;
  /// Everything tried so far in this search, in order.
  llvm::ArrayRef<TriedVariant> history;
  /// The parents of this round, best first; empty in the first round.
  llvm::ArrayRef<TriedVariant> parents;
  int round = 1;
  /// What won, and what failed, on similar workloads; its text says which.
  llvm::ArrayRef<Idea> known = {};
  /// By way of which language models are asked; set by the search.
  Exchanges *exchanges = nullptr;
  /// Programs that give other bits for the same operands are refused.
  bool requireDeterministic = false;
};

/// An answer that may be pending: then nothing.
template <typename T>
using Answer = llvm::Expected<std::optional<T>>;
/// Answers to several questions, in their order, each of which may be pending.
template <typename T>
using Answers = llvm::Expected<std::vector<std::optional<T>>>;

/// A trial that its proposer may mend.
struct FailedVariant {
  Idea idea;
  TriedVariant tried;
  /// How often its ancestors were mended: 0 for a first realisation.
  int attempt = 0;
};

/// In which variants may come.
using Languages = std::set<Language>;

class Proposer {
public:
  virtual ~Proposer();
  /// "catalog", "files:DIR": as the user named it.
  virtual llvm::StringRef name() const = 0;
  /// The languages of which some of its variants for `target` may be: what
  /// compiles them is looked for before a search begins. All by default.
  virtual Languages languages(const TargetDescription &target) const;
  /// True when every idea is to be tried in the first round, however many the
  /// user asked for: a person wrote them to be measured.
  virtual bool wantsAllTried() const { return false; }
  /// True when asking takes long, so that everything that can be asked at once
  /// should be: all ideas of a round are realised before one is tried.
  virtual bool prefersBatching() const { return false; }
  /// What it asks language models to write, as a Writing is called; empty: it
  /// asks none.
  virtual llvm::StringRef writes() const { return ""; }
  /// What has to be done to get answers that are pending; empty when none ever
  /// is. See LanguageModel::pendingHint().
  virtual std::string pendingHint() const { return ""; }
  /// What it has that was for none of the workloads that untried() was asked
  /// about, in words; empty: all was for some, or it was not asked.
  virtual std::string unused() const { return ""; }
  /// What people have written for the workload that is not in the history, in
  /// words; empty: nothing.
  virtual std::string untried(const ProposalContext &context) { return ""; }
  /// The model's, see LanguageModel.
  virtual bool waits() const { return false; }
  virtual bool takeNews() { return false; }

  /// Up to `count` ideas that were not tried yet, best first. Fewer, or none,
  /// when the proposer has no more to say.
  virtual Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                                 int count) = 0;
  /// Up to `count` different realisations of each of `ideas`, which are this
  /// proposer's.
  virtual Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                                llvm::ArrayRef<Idea> ideas,
                                                int count) = 0;
  /// Neighbours of a variant in the space of its numeric parameters, not tried
  /// yet, nearest first: what the numeric sweep evaluates. None by default.
  virtual llvm::Expected<std::vector<Variant>>
  neighbours(const ProposalContext &context, const Variant &variant, int count);
  /// For each of `failed` at most one mended realisation, after a compile or
  /// validation failure; none by default.
  virtual Answers<std::vector<Variant>>
  repair(const ProposalContext &context, llvm::ArrayRef<FailedVariant> failed);
};

/// The ideas of an expert, in the source tree (lib/Propose/Catalog).
std::unique_ptr<Proposer> createCatalogProposer();
/// Variants that a person wrote, one folder each: the program (kernel.c,
/// schedule.mlir, kernel.cu, kernel.mlir or kernel.ptx), plan.json, idea.md.
llvm::Expected<std::unique_ptr<Proposer>>
createFilesProposer(llvm::StringRef directory);

/// Instances of the families in a folder, one folder each; empty: of the
/// shipped ones. docs/families.md.
llvm::Expected<std::unique_ptr<Proposer>>
createFamilyProposer(llvm::StringRef directory);

/// The name as a winner passes it on with a bank: of a folder or file outside
/// the working directory its last part, of a command its program alone. Where
/// things lie on a machine, and what a command is told, is nobody else's.
std::string sharedProposerName(llvm::StringRef name);

} // namespace fastk

#endif // FASTK_PROPOSE_PROPOSER_H
