//===- Proposer.h - Where ideas and variants come from ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the search and whatever proposes: the built-in catalog,
// a folder of hand-written variants, later a language model. A proposer holds
// no state of a search: everything it may depend on is in the request, so that
// a search that is resumed from its journal asks and gets the same.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_PROPOSER_H
#define FASTK_PROPOSE_PROPOSER_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Worker/LaunchPlan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

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
};

/// What became of a variant, as a proposer may see it.
struct TriedVariant {
  Variant variant;
  /// Status and reason of its verdict; "ok" when it passed.
  std::string status;
  std::string reason;
  /// Median seconds; 0 unless the status is "ok" or "slow".
  double seconds = 0;
  double baselineSeconds = 0;
  int round = 0;
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
};

class Proposer {
public:
  virtual ~Proposer();
  /// "catalog", "files:DIR": as the user named it.
  virtual llvm::StringRef name() const = 0;
  /// True when every idea is to be tried in the first round, however many the
  /// user asked for: a person wrote them to be measured.
  virtual bool wantsAllTried() const { return false; }
  /// Up to `count` ideas that were not tried yet, best first. Fewer, or none,
  /// when the proposer has no more to say.
  virtual llvm::Expected<std::vector<Idea>>
  proposeIdeas(const ProposalContext &context, int count) = 0;
  /// Up to `count` different realisations of an idea of this proposer.
  virtual llvm::Expected<std::vector<Variant>>
  realise(const ProposalContext &context, const Idea &idea, int count) = 0;
  /// Neighbours of a variant in the space of its numeric parameters, not tried
  /// yet, nearest first: what the numeric sweep evaluates. None by default.
  virtual llvm::Expected<std::vector<Variant>>
  neighbours(const ProposalContext &context, const Variant &variant, int count);
  /// A mended realisation after a compile or validation failure; none by
  /// default.
  virtual llvm::Expected<std::optional<Variant>>
  repair(const ProposalContext &context, const Idea &idea,
         const TriedVariant &failed);
};

/// The ideas of an expert, in the source tree (lib/Propose/Catalog).
std::unique_ptr<Proposer> createCatalogProposer();
/// Variants that a person wrote, one folder each: the program (kernel.c,
/// schedule.mlir, kernel.cu or kernel.mlir), plan.json, idea.md.
llvm::Expected<std::unique_ptr<Proposer>>
createFilesProposer(llvm::StringRef directory);

} // namespace fastk

#endif // FASTK_PROPOSE_PROPOSER_H
