//===- PromptTemplates.h - The texts that prompts are made of ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files lib/Propose/LLM/Prompts/*.md, part of the program, each of which a
// folder of the user's may replace (docs/prompts.md). A template is text with
// {{name}} where a value comes; other braces stand for themselves. What a value
// holds is never looked at again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_LLM_PROMPTTEMPLATES_H
#define FASTK_PROPOSE_LLM_PROMPTTEMPLATES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace fastk {

class PromptTemplates {
public:
  /// The ones fastk is built with, those of `folder` in their places when it is
  /// not empty. An error names the file, the line and the remedy.
  static llvm::Expected<PromptTemplates> load(llvm::StringRef folder = "");

  using Values = std::map<std::string, std::string>;
  /// The parts of a prompt ("ideas", "variant", ...), filled in. A line that
  /// holds nothing but a name whose value is empty is left out.
  std::string system(llvm::StringRef name, const Values &values) const;
  std::string user(llvm::StringRef name, const Values &values) const;
  /// A shared part, which has no names: "rules", "contract-cuda".
  llvm::StringRef text(llvm::StringRef name) const;

  /// SHA-256 in hex over all templates.
  const std::string &digest() const { return hash; }

  static std::vector<std::string> names();

private:
  struct Parts {
    std::string system, user;
  };
  llvm::Error set(llvm::StringRef name, llvm::StringRef text,
                  llvm::StringRef place);
  void computeDigest();

  std::map<std::string, Parts> parts;
  std::string hash;
};

} // namespace fastk

#endif // FASTK_PROPOSE_LLM_PROMPTTEMPLATES_H
