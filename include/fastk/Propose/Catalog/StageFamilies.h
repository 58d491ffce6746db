//===- StageFamilies.h - Families that write stages -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_CATALOG_STAGEFAMILIES_H
#define FASTK_PROPOSE_CATALOG_STAGEFAMILIES_H

#include "fastk/Families/Family.h"
#include <map>
#include <tuple>

namespace fastk::catalog {

/// Families for the host, each of which may write a stage of a kernel. What one
/// was filled in as is remembered: a search emits kernels by the dozen that
/// differ in one stage.
class StageFamilies {
public:
  StageFamilies() = default;
  explicit StageFamilies(std::vector<families::Family> families)
      : families(std::move(families)) {}
  /// Those that the running program brings; none where it has no folder of
  /// them.
  static llvm::Expected<StageFamilies> shipped();

  bool empty() const { return families.empty(); }

  struct Filled {
    std::string family;
    families::Instance instance;
    families::ProgramNumbers numbers;
    int64_t workspaceBytes = 0;
  };
  /// The family of the core that expects to be fastest, with the wanted numbers
  /// as far as its rules allow: estimates of families for the host are in one
  /// unit. Its program can be a part of another one, with \p suffix behind the
  /// names that it defines. Nothing: \p why says what each does not take, or
  /// why it is no part.
  std::optional<Filled> fillIn(const families::CoreInstance &core,
                               const families::WantedNumbers &wanted,
                               llvm::StringRef suffix, std::string &why);

private:
  std::optional<Filled> fillIn(const families::Family &family,
                               const families::CoreInstance &core,
                               const families::WantedNumbers &wanted,
                               std::string &why);

  std::vector<families::Family> families;
  using Question =
      std::tuple<std::string, std::string, families::WantedNumbers>;
  struct Answer {
    std::optional<Filled> filled;
    /// Why there is nothing.
    std::string why;
    /// Of each suffix, why the program is no part; empty: it is one.
    std::map<std::string, std::string> refusals;
  };
  /// Null: \p why says why the family writes no stage.
  const Filled *answer(const families::Family &family,
                       const families::CoreInstance &core,
                       const families::WantedNumbers &wanted,
                       llvm::StringRef suffix, std::string &why);
  std::map<Question, Answer> known;
};

} // namespace fastk::catalog

#endif // FASTK_PROPOSE_CATALOG_STAGEFAMILIES_H
