//===- FilesProposer.cpp - Variants that a person wrote -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One folder each: the program, plan.json
//
//   {"workspace_bytes": 4096, "key": "1f3a...", "name": "softmax"}
//
// of which every field may be left out and "key" (8 digits or more of it) and
// "name" restrict the variant to a workload, and idea.md. Beside kernel.cu,
// kernel.mlir and kernel.ptx plan.json is a launch plan (docs/formats/plan.md),
// in which "key" and "name" may stand, too. Numbers in it may be expressions of
// the program's `// tune:` numbers, which the search varies. idea.md:
//
//   # Title in a few words
//   Category: memory access
//
//   What the idea is and why it should pay.
//
// The folder is read once, when the proposer is made: a file that changes while
// a search runs changes nothing.
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fastk;

namespace {

struct HandWritten {
  Idea idea;
  Variant variant;
  /// Restrictions of plan.json; empty: any workload.
  std::string key, name;
  /// It was for a workload that was asked about. Tells people, decides nothing.
  bool hasFitted = false;
};

class FilesProposer : public Proposer {
public:
  FilesProposer(std::string name, std::vector<HandWritten> entries)
      : shownName(std::move(name)), entries(std::move(entries)) {}

  StringRef name() const override { return shownName; }
  Languages languages(const TargetDescription &target) const override {
    Languages all;
    for (const HandWritten &entry : entries)
      all.insert(entry.variant.language);
    return all;
  }
  bool wantsAllTried() const override { return true; }
  std::string untried(const ProposalContext &context) override {
    wasAsked = true;
    std::string names;
    for (HandWritten &entry : entries) {
      if (!fits(entry, context))
        continue;
      entry.hasFitted = true;
      if (none_of(context.history, [&](const TriedVariant &each) {
            return digestOf(each.variant) == digestOf(entry.variant);
          }))
        names += (names.empty() ? "" : ", ") +
                 StringRef(entry.idea.id).split('/').second.str();
    }
    return names;
  }
  std::string unused() const override {
    std::string text;
    for (const HandWritten &entry : entries) {
      if (!wasAsked || entry.hasFitted)
        continue;
      text += text.empty() ? "" : ", ";
      text += StringRef(entry.idea.id).split('/').second;
      if (!entry.key.empty())
        text += " is for the key " + entry.key;
      if (!entry.name.empty())
        text += (entry.key.empty() ? " is for the name " : " and the name ") +
                entry.name;
    }
    return text;
  }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override {
    std::vector<Idea> ideas;
    for (const HandWritten &entry : entries) {
      if (!fits(entry, context))
        continue;
      bool tried = any_of(context.history, [&](const TriedVariant &each) {
        return each.variant.ideaId == entry.idea.id;
      });
      if (!tried && static_cast<int>(ideas.size()) < count)
        ideas.push_back(entry.idea);
    }
    return ideas;
  }

  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        ArrayRef<Idea> ideas,
                                        int count) override {
    std::vector<std::optional<std::vector<Variant>>> answers;
    for (const Idea &idea : ideas) {
      answers.emplace_back(std::in_place);
      for (const HandWritten &entry : entries)
        if (entry.idea.id == idea.id && count > 0 && answers.back()->empty())
          answers.back()->push_back(entry.variant);
    }
    return answers;
  }

  Expected<std::vector<Variant>> neighbours(const ProposalContext &context,
                                            const Variant &variant,
                                            int count) override {
    return neighboursOf(context, variant, count);
  }

private:
  static bool fits(const HandWritten &entry, const ProposalContext &context) {
    LoweringOp workload = context.workload;
    return workload.getKey().starts_with(entry.key) &&
           (entry.name.empty() || entry.name == context.features.name);
  }

  std::string shownName;
  std::vector<HandWritten> entries;
  bool wasAsked = false;
};

} // namespace

static Error fileProblem(const Twine &path, const Twine &problem) {
  return createStringError(inconvertibleErrorCode(), path + ": " + problem);
}

static Expected<std::string> readText(const Twine &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fileProblem(path, "cannot read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// Whether entries of a plan have names, which stand for their numbers.
static bool hasNames(const json::Object &plan) {
  for (StringRef list : {"workspaces", "tensor_maps"})
    if (const json::Array *entries = plan.getArray(list))
      for (const json::Value &entry : *entries)
        if (const json::Object *object = entry.getAsObject();
            object && object->get("name"))
          return true;
  return false;
}

/// Fills in what plan.json says of the workload; the text of the plan itself,
/// which is empty where there is none.
static Expected<std::string> readPlan(const Twine &path, HandWritten &entry,
                                      Language language) {
  bool launches = hasLaunchPlan(language);
  if (!sys::fs::exists(path)) {
    // A program for the host needs no workspace, unless it says so.
    if (!launches)
      return std::string();
    return fileProblem(path, "is missing: write how the program is launched, "
                             "see docs/formats/plan.md");
  }
  Expected<std::string> text = readText(path);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = parseShallowJSON(*text);
  if (!value)
    return fileProblem(path, "not JSON: " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return fileProblem(path, launches ? "must hold one object, a plan"
                                      : "must hold one object, as "
                                        "{\"workspace_bytes\": 0}");
  bool isTemplate = launches && hasNames(*object);
  json::Object planFields;
  for (auto &[field, content] : *object) {
    StringRef name = field;
    std::optional<StringRef> string = content.getAsString();
    if (name == "workspace_bytes" ||
        (launches && name != "key" && name != "name")) {
      planFields[field] = content;
    } else if (name == "key") {
      if (!string || string->size() < 8 || string->size() > 64 ||
          !all_of(*string,
                  [](char c) { return isDigit(c) || (c >= 'a' && c <= 'f'); }))
        return fileProblem(path, "'key' must be 8 to 64 lower-case hex digits, "
                                 "the beginning of a workload's key");
      entry.key = string->str();
    } else if (name == "name") {
      if (!string)
        return fileProblem(path, "'name' must be the display name of a "
                                 "workload, as \"softmax\"");
      entry.name = string->str();
    } else {
      return fileProblem(path, "unknown field '" + name +
                                   "'; known are workspace_bytes, key, name");
    }
  }
  // As it stands where it can be, so that fields given twice are found.
  if (planFields.size() < object->size()) {
    text->clear();
    if (!planFields.empty())
      raw_string_ostream(*text) << json::Value(std::move(planFields));
  }
  // With names and expressions it is no launch plan yet.
  std::string problem;
  if (launches && !isTemplate && !families::hasExpressions(*text) &&
      !worker::parseLaunchPlan(*text, problem))
    return fileProblem(path, problem);
  return std::move(*text);
}

/// Reads idea.md.
static Error readIdea(const Twine &path, Idea &idea) {
  if (!sys::fs::exists(path))
    return fileProblem(path, "is missing: write '# Title', then 'Category: "
                             "memory access' or another, then why it pays");
  Expected<std::string> text = readText(path);
  if (!text)
    return text.takeError();
  auto [first, rest] = StringRef(*text).ltrim().split('\n');
  if (!first.consume_front("# ") || first.trim().empty())
    return fileProblem(path, "must begin with a title, as '# Tile for L2'");
  idea.title = first.trim().str();
  auto [second, body] = rest.ltrim().split('\n');
  if (!second.consume_front("Category:"))
    return fileProblem(path, "needs a line 'Category: ...' after the title");
  std::optional<IdeaCategory> category = parseIdeaCategory(second);
  if (!category)
    return fileProblem(path, "unknown category '" + second.trim() +
                                 "'; known are memory access, async and "
                                 "latency hiding, data type and precision, "
                                 "compute and instructions, parallelism and "
                                 "occupancy, control flow and loops");
  idea.category = *category;
  idea.text = body.trim().str();
  return Error::success();
}

namespace {
/// The file of a program, by its language.
struct ProgramFile {
  StringRef name;
  Language language;
};
} // namespace

static constexpr ProgramFile programFiles[] = {
    {"kernel.c", Language::c},
    {"schedule.mlir", Language::schedule},
    {"kernel.cu", Language::cuda},
    {"kernel.mlir", Language::gpu},
    {"kernel.ptx", Language::ptx}};

/// Reads one variant's folder.
static Expected<HandWritten> readFolder(StringRef folder) {
  HandWritten entry;
  StringRef name = sys::path::filename(folder);
  const ProgramFile *found = nullptr;
  for (const ProgramFile &file : programFiles) {
    if (!sys::fs::exists(folder + "/" + file.name))
      continue;
    if (found)
      return fileProblem(folder, "holds both " + found->name + " and " +
                                     file.name + "; give each its own folder");
    found = &file;
  }
  if (!found)
    return fileProblem(folder, "holds none of kernel.c, schedule.mlir, "
                               "kernel.cu, kernel.mlir and kernel.ptx; add "
                               "the program");
  Expected<std::string> program = readText(folder + "/" + found->name);
  if (!program)
    return program.takeError();
  std::string planFile = (folder + "/plan.json").str();
  Expected<std::string> plan = readPlan(planFile, entry, found->language);
  if (!plan)
    return plan.takeError();
  entry.variant = makeVariant(found->language, *program, *plan);
  if (!entry.variant.problem.empty())
    return fileProblem(planFile, entry.variant.problem);
  if (Error error = readIdea(folder + "/idea.md", entry.idea))
    return error;
  entry.idea.id = ("files/" + name).str();
  entry.variant.ideaId = entry.idea.id;
  return entry;
}

Expected<std::unique_ptr<Proposer>>
fastk::createFilesProposer(StringRef directory) {
  if (!sys::fs::is_directory(directory))
    return fileProblem(directory, "not a folder; files:DIR wants a folder with "
                                  "one folder per variant");
  bool isVariant = any_of(programFiles, [&](const ProgramFile &file) {
    return sys::fs::exists(directory + "/" + file.name);
  });
  if (isVariant)
    return fileProblem(directory, "is the folder of a variant; name the one "
                                  "that it is in");
  std::vector<std::string> folders;
  std::error_code code;
  for (sys::fs::directory_iterator it(directory, code), end; !code && it != end;
       it.increment(code))
    if (!sys::path::filename(it->path()).starts_with(".") &&
        sys::fs::is_directory(it->path()))
      folders.push_back(it->path());
  if (code)
    return fileProblem(directory, "cannot list: " + code.message());
  if (folders.empty())
    return fileProblem(directory, "holds no variant; make one folder for each "
                                  "with a program, plan.json and idea.md");
  sort(folders);
  std::vector<HandWritten> entries;
  for (const std::string &folder : folders) {
    Expected<HandWritten> entry = readFolder(folder);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  return std::make_unique<FilesProposer>(("files:" + directory).str(),
                                         std::move(entries));
}
