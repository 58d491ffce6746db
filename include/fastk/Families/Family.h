//===- Family.h - A program for every workload of a core --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder: kernel.cu, a program that names no size; plan.json, its plan, with
// expressions of the program's macros; family.json, what it is, where it may be
// used and what it is likely to cost. For the host kernel.c and family.json.
// The compiler writes a header for a workload in front of the program, and an
// instance is there: a variant like any other, whose numbers search may change.
// docs/families.md tells it in full.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_FAMILY_H
#define FASTK_FAMILIES_FAMILY_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Families/Core.h"
#include "fastk/Families/Numbers.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <tuple>
#include <vector>

namespace fastk::families {

struct Family {
  /// The folder's name, and where it was read.
  std::string name, folder;
  /// SHA-256 of its files.
  std::string digest;
  /// "contraction"; "sm_90a", or "host".
  std::string core, target;
  /// A few words, and what it does and why it is fast, in full sentences; the
  /// category of an idea.
  std::string title, text, category;
  std::string program, plan;
  /// Of a family for the host: bytes of workspace, as an expression; its plan
  /// says them. Empty: none.
  std::string workspaceBytes;
  /// Expressions that must not be 0, and what to say where one is. They hold
  /// for a workload whatever the parameters (`requirements`), or tell which
  /// values of parameters go together (`legal`).
  struct Rule {
    std::string expression, because;
  };
  std::vector<Rule> requirements, legal;
  /// Parameters of the program whose values are chosen by `cost`, the least
  /// first: an estimate, in any unit. Its last line, without a name, is the
  /// estimate; lines may use the names of those before them.
  struct CostLine {
    std::string name, expression;
  };
  std::vector<std::string> chosen;
  std::vector<CostLine> cost;

  bool isForHost() const { return target == "host"; }
  /// The target as searches name it: "cuda:sm_90a", "host".
  std::string device() const { return isForHost() ? target : "cuda:" + target; }
  /// Whether its instances run on devices of a target ("cuda:sm_90a").
  bool isFor(llvm::StringRef other) const { return other == device(); }
  Language language() const {
    return isForHost() ? Language::c : Language::cuda;
  }
  /// The program's file.
  llvm::StringRef programFile() const {
    return isForHost() ? "kernel.c" : "kernel.cu";
  }
};

/// Reads one family; and every family of a folder and of the folders in it, by
/// name, but none in hidden ones. An error names the file and what is wrong
/// with it.
llvm::Expected<Family> readFamily(llvm::StringRef folder);
llvm::Expected<std::vector<Family>> readFamilies(llvm::StringRef folder);
/// Those of a target ("cuda:sm_90a"), of a folder that has one of its own for
/// each ("sm_90a"), as the shipped one has: of other targets nothing is read.
/// None where there is no folder of the target.
llvm::Expected<std::vector<Family>> readFamiliesOf(llvm::StringRef target,
                                                   llvm::StringRef folder);
/// A family from the texts of its files; for the host \p plan is ignored. An
/// error begins with \p file, which stands for family.json.
llvm::Expected<Family> parseFamily(llvm::StringRef file, llvm::StringRef rules,
                                   llvm::StringRef program,
                                   llvm::StringRef plan);
/// What family.json would say.
llvm::json::Object rulesOf(const Family &family);

/// What stands before a family's program in its instances.
std::string headerOf(const CoreInstance &core);

/// A family filled in for a workload.
struct Instance {
  /// Header and program, and the plan, still with expressions: whoever has them
  /// can change the numbers.
  std::string program, plan;
  int64_t cost = 0;
  /// Bytes of the header: where the family's own program begins.
  size_t header = 0;
  /// Of these, on the host, those at the beginning that say nothing about the
  /// workload: what is known of the machine, types and helpers.
  size_t helpers = 0;
};

/// Up to `count` instances, those first that should be fastest. None: \p why
/// says which requirement is not met.
std::vector<Instance> instantiate(const Family &family,
                                  const CoreInstance &core, size_t count,
                                  std::string &why);
/// The same for a workload of several cores, by that of the family.
std::vector<Instance> instantiate(const Family &family,
                                  llvm::ArrayRef<CoreInstance> cores,
                                  size_t count, std::string &why);

/// Values that numbers of an instance should have; where the rules forbid them
/// together, those of `first` count before the others.
struct WantedNumbers {
  Names first, others;

  bool operator<(const WantedNumbers &other) const {
    return std::tie(first, others) < std::tie(other.first, other.others);
  }
};
/// The instance with the wanted values: of those that the rules allow the
/// nearest, counted in steps of the numbers' lists, and the one that should be
/// fastest of these. Nothing: \p why says which requirement is not met.
std::optional<Instance> instantiateNear(const Family &family,
                                        const CoreInstance &core,
                                        const WantedNumbers &wanted,
                                        std::string &why);

/// Which of the families of a target serve the workload, and why the others do
/// not: a line for each, or one where the workload has no core that any has.
/// Empty: the target has no families. \p precision: acceptClass().
std::string explainFamilies(llvm::ArrayRef<Family> families,
                            mlir::Block &pattern, llvm::StringRef target,
                            const catalog::Machine &machine = {},
                            llvm::StringRef precision = "ieee");

/// Whether the values of an instance's parameters go together.
bool isLegal(const Family &family, llvm::StringRef program);

/// The instance's program with its family in comments, so that whoever has the
/// program has the family.
std::string withFamily(const Instance &instance, const Family &family);
/// The family in the comments of an instance, whose parameters have the values
/// that they have there. Nothing: it has none, or one that cannot be read.
std::optional<Family> familyIn(llvm::StringRef program);

} // namespace fastk::families

#endif // FASTK_FAMILIES_FAMILY_H
