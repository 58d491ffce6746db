//===- ReadReply.h - What a language model said -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reply may be anything. What surrounds the answer is passed over; the answer
// itself is read strictly, and what is wrong with it is one sentence that says
// what is wanted. Nothing of a reply becomes a name, a path or a command, and
// control characters do not survive.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_READREPLY_H
#define FASTK_LIB_PROPOSE_LLM_READREPLY_H

#include "fastk/Propose/Proposer.h"
#include <map>
#include <string>
#include <vector>

namespace fastk::llm {

/// Of one line, for tables and terminals: without control characters, blanks
/// joined, at most `most` bytes.
std::string cleanLine(llvm::StringRef text, size_t most);
/// The same of several lines.
std::string cleanText(llvm::StringRef text, size_t most);

/// Letters and digits only, in lower case: what makes two ideas the same.
std::string normalise(llvm::StringRef text);
/// For an id: "keep-rows-on-chip", at most 40 characters.
std::string slugOf(llvm::StringRef title);

struct IdeasReply {
  /// Without id; `parent` is a label as the prompt gave it, or empty.
  std::vector<Idea> ideas;
  /// Why there is none; also set, for display, when some were left out.
  std::string problem;
  /// There is nothing in the reply that could be an idea. A reply that says
  /// that there are no more, or only repeats those that were, can be read.
  bool isUnreadable = false;
};
/// At most `count` ideas, none of which has a title or a text of \p known
/// (normalised).
IdeasReply readIdeas(llvm::StringRef reply, int count,
                     llvm::ArrayRef<std::string> labels,
                     llvm::ArrayRef<std::string> known);

/// What the idea category `text` obviously means.
std::optional<IdeaCategory> guessCategory(llvm::StringRef text);

struct ProgramReply {
  std::string program;
  /// The plan's text; empty: none. The rules of a family, its family.json;
  /// empty: it was not asked for.
  std::string plan, rules;
  /// Why it cannot be used; then the others are empty.
  std::string problem;
};
ProgramReply readProgram(llvm::StringRef reply, Language language,
                         bool isFamily = false);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_READREPLY_H
