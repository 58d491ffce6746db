//===- ReadReply.cpp - What a language model said -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadReply.h"
#include "PromptLanguage.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include <set>
#include <utility>

using namespace llvm;
using namespace fastk;

/// A reply beyond this is no answer to any prompt of ours.
static constexpr size_t kMaxReplyBytes = 4 << 20;
static constexpr size_t kMaxProgramBytes = 256 << 10;
static constexpr size_t kMaxPlanBytes = 64 << 10;
static constexpr size_t kMaxTitleBytes = 100, kMaxTextBytes = 4000;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Bytes of an invisible character at the beginning of `text`: those that end
/// lines or reorder what a terminal shows.
static size_t invisibleAt(StringRef text) {
  unsigned char c = text[0];
  if (c < 0x20 || c == 0x7f)
    return 1;
  auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  // U+0080 to U+009F.
  if (c == 0xc2 && at(1) >= 0x80 && at(1) < 0xa0)
    return 2;
  // U+200B to U+200F, U+2028 to U+202E; U+2060 to U+206F.
  if (c == 0xe2 && at(1) == 0x80 &&
      ((at(2) >= 0x8b && at(2) <= 0x8f) || (at(2) >= 0xa8 && at(2) <= 0xae)))
    return 3;
  if (c == 0xe2 && at(1) == 0x81 && at(2) >= 0xa0 && at(2) <= 0xaf)
    return 3;
  // U+FEFF.
  if (c == 0xef && at(1) == 0xbb && at(2) == 0xbf)
    return 3;
  return 0;
}

/// At most `most` bytes, whole characters.
static StringRef cut(StringRef text, size_t most) {
  if (text.size() <= most)
    return text;
  while (most && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
    --most;
  return text.take_front(most);
}

static std::string clean(StringRef original, size_t most, bool keepsLines) {
  std::string valid = json::fixUTF8(original.take_front(8 * most + 64)), result;
  StringRef text = valid;
  while (!text.empty()) {
    if (size_t length = invisibleAt(text)) {
      char c = text[0];
      if (keepsLines && c == '\n')
        result += '\n';
      else if (!result.empty() && result.back() != ' ' && result.back() != '\n')
        result += ' ';
      text = text.drop_front(length);
      continue;
    }
    if (text[0] != ' ' || (!result.empty() && result.back() != ' '))
      result += text[0];
    text = text.drop_front();
  }
  return cut(StringRef(result).trim(), most).rtrim().str();
}

std::string llm::cleanLine(StringRef text, size_t most) {
  return clean(text, most, false);
}
std::string llm::cleanText(StringRef text, size_t most) {
  return clean(text, most, true);
}

std::string llm::normalise(StringRef text) {
  std::string result;
  for (char c : text)
    if (isAlnum(c) || static_cast<unsigned char>(c) >= 0x80)
      result += toLower(c);
  return result;
}

std::string llm::slugOf(StringRef title) {
  std::string slug;
  for (char c : title) {
    if (isAlnum(c))
      slug += toLower(c);
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
    if (slug.size() >= 40)
      break;
  }
  slug = StringRef(slug).rtrim('-').str();
  return slug.empty() ? "idea" : slug;
}

//===----------------------------------------------------------------------===//
// Fenced blocks
//===----------------------------------------------------------------------===//

namespace {
struct Block {
  /// First word behind the fence, in lower case.
  std::string tag;
  std::string text;
};
} // namespace

/// The fence that a line begins with: its character repeated.
static StringRef fenceOf(StringRef line) {
  StringRef rest = line.ltrim(' ');
  if (line.size() - rest.size() > 3 || rest.empty() ||
      (rest[0] != '`' && rest[0] != '~'))
    return "";
  size_t length = rest.find_first_not_of(rest[0]);
  StringRef fence = rest.take_front(length);
  return fence.size() < 3 ? StringRef() : fence;
}

static std::vector<Block> readBlocks(StringRef text, bool &endsInside) {
  std::vector<Block> blocks;
  std::string fence;
  endsInside = false;
  Block block;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    StringRef here = fenceOf(line);
    if (fence.empty()) {
      if (here.empty())
        continue;
      fence = here.str();
      StringRef info = line.ltrim(' ').drop_front(here.size()).trim();
      block = {info.take_until([](char c) { return isSpace(c) || c == '{'; })
                   .lower(),
               ""};
      continue;
    }
    if (here.size() >= fence.size() && here[0] == fence[0] &&
        line.trim() == here) {
      blocks.push_back(std::exchange(block, {}));
      fence.clear();
      continue;
    }
    block.text += line.str() + "\n";
  }
  endsInside = !fence.empty();
  return blocks;
}

/// The answer as texts are here: '\n' ends lines. Without the thoughts that
/// some models put before it.
static std::string answerOf(StringRef text) {
  constexpr StringLiteral endOfThoughts = "</think>";
  size_t thoughts = text.rfind(endOfThoughts);
  if (thoughts != StringRef::npos)
    text = text.substr(thoughts + endOfThoughts.size());
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r')
      result += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      result += '\n';
  return result;
}

//===----------------------------------------------------------------------===//
// Ideas
//===----------------------------------------------------------------------===//

std::optional<IdeaCategory> llm::guessCategory(StringRef text) {
  if (std::optional<IdeaCategory> category = parseIdeaCategory(text))
    return category;
  std::string word = text.lower();
  auto says = [&](std::initializer_list<StringRef> parts) {
    return any_of(parts, [&](StringRef part) {
      return word.find(part.str()) != std::string::npos;
    });
  };
  // The most telling words first: "memory latency" is about latency.
  if (says({"async", "latency", "pipelin", "prefetch", "overlap"}))
    return IdeaCategory::Latency;
  if (says({"precision", "dtype", "data type", "datatype"}))
    return IdeaCategory::Precision;
  if (says({"parallel", "occupancy"}))
    return IdeaCategory::Parallelism;
  if (says({"control", "loop", "branch"}))
    return IdeaCategory::ControlFlow;
  if (says({"memory", "cache", "layout"}))
    return IdeaCategory::MemoryAccess;
  if (says({"compute", "instruction", "tensor core", "algorithm"}))
    return IdeaCategory::Compute;
  return std::nullopt;
}

/// The text of the JSON value that begins `text`, to its closing bracket; empty
/// when there is none.
static StringRef balanced(StringRef text) {
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        isString = false;
    } else if (c == '"') {
      isString = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return text.take_front(i + 1);
    }
  }
  return "";
}

/// The list of ideas in `text`, if it is JSON that holds one.
static std::optional<json::Array> ideasIn(StringRef text,
                                          std::string &problem) {
  std::optional<json::Value> value =
      families::parseUntrusted(text.trim(), problem);
  if (!value)
    return std::nullopt;
  if (json::Array *array = value->getAsArray())
    return std::move(*array);
  json::Object *object = value->getAsObject();
  json::Array *ideas = object ? object->getArray("ideas") : nullptr;
  if (ideas)
    return std::move(*ideas);
  problem = "it has no list \"ideas\"";
  return std::nullopt;
}

static std::optional<json::Array> findIdeas(StringRef text,
                                            std::string &problem) {
  if (text.trim().empty()) {
    problem = "it is empty";
    return std::nullopt;
  }
  if (std::optional<json::Array> ideas = ideasIn(text, problem))
    return ideas;
  std::string ignored;
  bool endsInside;
  for (const Block &block : readBlocks(text, endsInside))
    if (std::optional<json::Array> ideas = ideasIn(block.text, ignored))
      return ideas;
  // An object within other text. A few beginnings are enough.
  size_t at = 0;
  for (int tries = 0; tries < 16; ++tries, ++at) {
    at = text.find('{', at);
    if (at == StringRef::npos) {
      if (!tries)
        problem = "there is no JSON object in it";
      break;
    }
    StringRef object = balanced(text.substr(at));
    if (object.empty()) {
      if (!tries)
        problem = "its JSON object does not end";
      continue;
    }
    if (std::optional<json::Array> ideas = ideasIn(object, ignored))
      return ideas;
    if (!tries)
      problem = ignored;
  }
  return std::nullopt;
}

llm::IdeasReply llm::readIdeas(StringRef reply, int count,
                               ArrayRef<std::string> labels,
                               ArrayRef<std::string> known) {
  IdeasReply result;
  constexpr StringLiteral wanted =
      "; wanted is one JSON object {\"ideas\": [{\"title\", \"category\", "
      "\"text\", \"parent\", \"expected_gain\"}, ...]}";
  if (reply.size() > kMaxReplyBytes) {
    result.problem = ("the reply is longer than 4 MiB" + wanted).str();
    result.isUnreadable = true;
    return result;
  }
  std::string text = answerOf(reply), problem;
  std::optional<json::Array> ideas = findIdeas(text, problem);
  if (!ideas) {
    result.problem =
        "the reply cannot be read: " + cleanLine(problem, 200) + wanted.str();
    result.isUnreadable = true;
    return result;
  }

  std::set<std::string> seen(known.begin(), known.end());
  std::string left;
  bool hasRepeated = false;
  auto leaveOut = [&](size_t index, const Twine &why) {
    if (left.size() < 400)
      left += (left.empty() ? "" : "; ") +
              ("idea " + Twine(index + 1) + " " + why).str();
  };
  for (size_t i = 0; i < ideas->size(); ++i) {
    if (static_cast<int>(result.ideas.size()) >= count)
      break;
    const json::Object *object = (*ideas)[i].getAsObject();
    if (!object) {
      leaveOut(i, "is no object");
      continue;
    }
    auto get = [&](StringRef field) {
      std::optional<StringRef> value = object->getString(field);
      return value ? *value : StringRef();
    };
    Idea idea;
    idea.title = cleanLine(get("title"), kMaxTitleBytes);
    idea.text = cleanText(get("text"), kMaxTextBytes);
    if (normalise(idea.title).empty() || normalise(idea.text).empty()) {
      leaveOut(i, idea.title.empty() ? "has no title" : "has no text");
      continue;
    }
    std::optional<IdeaCategory> category = guessCategory(get("category"));
    if (!category) {
      leaveOut(i, "has the unknown category '" +
                      cleanLine(get("category"), 40) + "'");
      continue;
    }
    idea.category = *category;
    std::string parent = cleanLine(get("parent"), 40);
    for (const std::string &label : labels)
      if (StringRef(parent).equals_insensitive(label))
        idea.parent = label;
    std::string title = normalise(idea.title), body = normalise(idea.text);
    if (seen.count(title) || seen.count(body)) {
      leaveOut(i, "was there before");
      hasRepeated = true;
      continue;
    }
    seen.insert(title);
    seen.insert(body);
    std::string gain = cleanLine(get("expected_gain"), 300);
    if (gain.empty())
      if (const json::Value *value = object->get("expected_gain"))
        if (std::optional<double> number = value->getAsNumber())
          gain = formatv("{0:f2}x", *number).str();
    if (!gain.empty())
      idea.text += "\nExpected gain: " + gain;
    result.ideas.push_back(std::move(idea));
  }
  if (!left.empty())
    result.problem = left;
  result.isUnreadable = result.ideas.empty() && !ideas->empty() && !hasRepeated;
  if (result.ideas.empty())
    result.problem =
        (ideas->empty() ? "the list of ideas is empty" : left) + wanted.str();
  return result;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The rules of a family are told from its plan by what only they have.
static bool looksLikeRules(StringRef text) {
  return text.trim().starts_with("{") && text.contains("\"requirements\"");
}

static bool looksLikePlan(StringRef text, const llm::PromptLanguage &language) {
  return text.trim().starts_with("{") && !language.planField.empty() &&
         text.contains(language.planField);
}

/// What is wrong with the text of a program before anybody compiles it.
static std::string checkProgram(StringRef program, Language language) {
  if (program.size() > kMaxProgramBytes)
    return "the program is longer than 256 KiB";
  size_t line = 1;
  for (char c : program) {
    line += c == '\n';
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      return ("line " + Twine(line) +
              " of the program holds the control character 0x" +
              utohexstr(byte, true) + "; write it as text")
          .str();
  }
  const auto *data = reinterpret_cast<const UTF8 *>(program.data());
  if (!isLegalUTF8String(&data, data + program.size()))
    return "the program is no UTF-8 text";
  if (program.contains("```"))
    return "the program holds a fence (```); write the code alone";
  if (language == Language::cuda && !program.contains("extern \"C\""))
    return "no entry is declared extern \"C\" __global__";
  return "";
}

llm::ProgramReply llm::readProgram(StringRef reply, Language language,
                                   bool isFamily) {
  const PromptLanguage &own = promptLanguageOf(language);
  StringRef wanted =
      isFamily ? "one block ```cuda with the whole program, one block ```json "
                 "with its plan and one block ```json with its rules"
               : StringRef(own.wanted);
  ProgramReply result;
  auto fail = [&](const Twine &why) {
    return ProgramReply{"", "", "",
                        ("the reply " + why + "; wanted is " + wanted).str()};
  };
  if (reply.trim().empty())
    return fail("is empty");
  if (reply.size() > kMaxReplyBytes)
    return fail("is longer than 4 MiB");
  if (reply.contains('\0'))
    return fail("holds a NUL byte");
  std::string text = answerOf(reply);
  bool endsInside;
  std::vector<Block> blocks = readBlocks(text, endsInside);
  if (endsInside)
    return fail("ends inside a fenced block: it is cut off, or a fence is "
                "missing");

  // The last one of a kind: what comes before is thinking aloud.
  const Block *program = nullptr, *plan = nullptr, *rules = nullptr;
  for (const Block &block : blocks) {
    if (block.tag != "json" && StringRef(block.text).contains(own.entry))
      program = &block;
    else if (isFamily && looksLikeRules(block.text))
      rules = &block;
    else if (looksLikePlan(block.text, own))
      plan = &block;
  }
  // One that is damaged is better told of than missing.
  for (const Block &block : blocks)
    if (!plan && !own.planField.empty() && block.tag == "json" &&
        &block != rules)
      plan = &block;
  if (!program) {
    for (const Block &block : blocks)
      if (block.tag == own.tag)
        return fail("has a block ```" + own.tag + " without " + own.entryName);
    return fail("has no fenced block with a program");
  }
  if (hasLaunchPlan(language) && !plan)
    return fail("has no fenced block with the plan");
  if (isFamily && !rules)
    return fail("has no fenced block with the family's rules");
  for (const Block *block : {plan, rules})
    if (block && block->text.size() > kMaxPlanBytes)
      return fail("has a plan or rules of more than 64 KiB");
  std::string problem = checkProgram(program->text, language);
  if (!problem.empty())
    return fail("cannot be used: " + problem);
  result.program = program->text;
  if (plan)
    result.plan = plan->text;
  if (rules)
    result.rules = rules->text;
  return result;
}
