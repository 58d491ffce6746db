//===- PromptTemplates.cpp - The texts that prompts are made of -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/PromptTemplates.h"
#include "EmbeddedPrompts.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fastk;

namespace {
/// What a template may say {{...}} of.
struct TemplateKind {
  StringLiteral name;
  /// Has a part for the system and one for the user.
  bool hasSystem;
  /// Separated by blanks.
  StringLiteral placeholders;
};
} // namespace

/// The numbers of the contract.
static constexpr StringLiteral kContract =
    "ieee ieee_f64 ieee_product tf32 tf32_product half product_k row_length "
    "row_share";

static constexpr TemplateKind kKinds[] = {
    {"ideas", true,
     "language rules device workload precision standing parents history known "
     "round "
     "count"},
    {"ideas-again", false, "prompt problem reply"},
    {"variant", true,
     "contract plan example prelude rules device reply_format workload "
     "precision standing parent idea task"},
    {"repair", true,
     "contract plan example prelude rules device reply_format workload "
     "precision idea program diagnostic failures attempt"},
    {"contract-cuda", false, ""},
    {"contract-c", false, ""},
    {"contract-schedule", false, "target schedule_ops"},
    {"contract-gpu", false, "dialects gpu_ops refused_ops"},
    {"contract-family", false, "core interface"},
    {"schedule-host", false, ""},
    {"schedule-cuda", false, "kernel_numbers"},
    {"ideas-cuda", false, ""},
    {"ideas-c", false, ""},
    {"ideas-schedule", false, ""},
    {"ideas-gpu", false, ""},
    {"ideas-family", false, "core"},
    {"plan", false, ""},
    {"example-cuda", false, ""},
    {"example-gpu", false, ""},
    {"prelude", false, ""},
    {"reply-cuda", false, ""},
    {"reply-c", false, ""},
    {"reply-schedule", false, ""},
    {"reply-gpu", false, ""},
    {"reply-family", false, ""},
    {"rules", false, "repetition"},
    {"repetition-free", false, ""},
    {"repetition-required", false, ""},
    {"failures", false, ""},
    {"sample", false, "sample samples"},
    {"precision-ieee", false, kContract},
    {"precision-tf32", false, kContract},
    {"precision-half", false, kContract},
    {"device-cuda", false, ""},
    {"device-host", false, ""},
};

static constexpr StringLiteral kSystemMark = "<!-- system -->\n";
static constexpr StringLiteral kUserMark = "<!-- user -->\n";
/// A template is a page or two.
static constexpr uint64_t kMaxBytes = 256 << 10;

static const TemplateKind *findKind(StringRef name) {
  for (const TemplateKind &kind : kKinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

static Error templateProblem(const Twine &place, const Twine &problem) {
  return createStringError(inconvertibleErrorCode(), place + ": " + problem);
}

/// The name in {{name}} at the beginning of `text`, or nothing.
static StringRef placeholderAt(StringRef text) {
  if (!text.consume_front("{{"))
    return "";
  size_t length = text.find_if_not([](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (length == StringRef::npos || length == 0 || isDigit(text[0]) ||
      !text.substr(length).starts_with("}}"))
    return "";
  return text.take_front(length);
}

static std::string fillIn(StringRef text,
                          const PromptTemplates::Values &values) {
  std::string result;
  auto valueOf = [&](StringRef name) -> StringRef {
    auto found = values.find(name.str());
    return found == values.end() ? StringRef() : StringRef(found->second);
  };
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    bool hasEnd = line.size() < text.size();
    text = rest;
    StringRef only = placeholderAt(line);
    if (!only.empty() && line.size() == only.size() + 4) {
      StringRef value = valueOf(only).rtrim('\n');
      if (value.empty()) {
        // With the blank line behind it.
        text.consume_front("\n");
        continue;
      }
      result += value;
    } else {
      while (!line.empty()) {
        StringRef name = placeholderAt(line);
        if (name.empty()) {
          result += line[0];
          line = line.drop_front();
          continue;
        }
        result += valueOf(name);
        line = line.drop_front(name.size() + 4);
      }
    }
    if (hasEnd)
      result += '\n';
  }
  return result;
}

std::vector<std::string> PromptTemplates::names() {
  std::vector<std::string> names;
  for (const TemplateKind &kind : kKinds)
    names.push_back(kind.name.str());
  return names;
}

Error PromptTemplates::set(StringRef name, StringRef original,
                           StringRef place) {
  const TemplateKind *kind = findKind(name);
  assert(kind && "only known templates are read");
  std::string text;
  for (char c : original)
    if (c != '\r')
      text += c;
  if (text.find('\0') != std::string::npos)
    return templateProblem(place, "holds a NUL byte; a template is a text");
  if (StringRef(text).trim().empty())
    return templateProblem(place, "is empty; remove the file to use the "
                                  "template that fastk comes with");
  if (text.back() != '\n')
    text += '\n';

  SmallVector<StringRef> known;
  StringRef(kind->placeholders).split(known, ' ', -1, false);
  for (size_t at = 0; (at = text.find("{{", at)) != std::string::npos; ++at) {
    StringRef found = placeholderAt(StringRef(text).substr(at));
    if (found.empty() || is_contained(known, found))
      continue;
    size_t line = 1 + StringRef(text).take_front(at).count('\n');
    return templateProblem(place + ":" + Twine(line),
                           "unknown placeholder '{{" + found + "}}'; " +
                               (known.empty()
                                    ? Twine("this template has none")
                                    : Twine("known are " + join(known, ", "))) +
                               "; write '{ {' where braces are meant");
  }

  Parts &here = parts[name.str()];
  if (!kind->hasSystem) {
    here.user = std::move(text);
    return Error::success();
  }
  StringRef rest = text;
  if (!rest.consume_front(kSystemMark))
    return templateProblem(place, "must begin with a line '<!-- system -->'");
  auto [system, user] = rest.split(kUserMark);
  if (user.trim().empty())
    return templateProblem(place,
                           "needs a line '<!-- user -->' and text behind it: "
                           "what the prompts of a search have in common "
                           "stands before it, the rest behind it");
  here.system = (system.trim() + "\n").str();
  here.user = user.ltrim().str();
  return Error::success();
}

void PromptTemplates::computeDigest() {
  std::string all;
  for (auto &[name, each] : parts)
    all += name + " " + sha256(each.system) + " " + sha256(each.user) + "\n";
  hash = sha256(all);
}

Expected<PromptTemplates> PromptTemplates::load(StringRef folder) {
  PromptTemplates templates;
  for (const TemplateKind &kind : kKinds) {
    auto found = embeddedPrompts().find(kind.name.str());
    if (found == embeddedPrompts().end())
      return templateProblem("Prompts/" + kind.name + ".md", "is not built in");
    if (Error error = templates.set(kind.name, found->second,
                                    ("Prompts/" + kind.name + ".md").str()))
      return std::move(error);
  }
  if (!folder.empty()) {
    if (!sys::fs::is_directory(folder))
      return templateProblem(folder, "not a folder; --prompts=DIR wants one "
                                     "with templates, as ideas.md");
    std::error_code code;
    int read = 0;
    for (sys::fs::directory_iterator it(folder, code), end; !code && it != end;
         it.increment(code)) {
      StringRef path = it->path(), name = sys::path::stem(path);
      if (sys::path::extension(path) != ".md" || name.starts_with("."))
        continue;
      if (!findKind(name))
        return templateProblem(path, "no template of that name; known are " +
                                         join(names(), ", "));
      uint64_t size = 0;
      if (!sys::fs::file_size(path, size) && size > kMaxBytes)
        return templateProblem(path, "is larger than 256 KiB");
      ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
          MemoryBuffer::getFile(path);
      if (!buffer)
        return templateProblem(path,
                               "cannot read: " + buffer.getError().message());
      if (Error error = templates.set(name, (*buffer)->getBuffer(), path))
        return std::move(error);
      ++read;
    }
    if (code)
      return templateProblem(folder, "cannot list: " + code.message());
    if (!read)
      return templateProblem(folder, "holds no template; known are " +
                                         join(names(), ".md, ") + ".md");
  }
  templates.computeDigest();
  return templates;
}

std::string PromptTemplates::system(StringRef name,
                                    const Values &values) const {
  return fillIn(parts.at(name.str()).system, values);
}

std::string PromptTemplates::user(StringRef name, const Values &values) const {
  return fillIn(parts.at(name.str()).user, values);
}

StringRef PromptTemplates::text(StringRef name) const {
  return parts.at(name.str()).user;
}
