//===- JournalEvents.cpp - Ideas, variants, verdicts and choices ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JournalFormat.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Search/Journal.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetFields.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>

using namespace llvm;
using namespace fastk;
using namespace fastk::journal;

//===----------------------------------------------------------------------===//
// Ideas
//===----------------------------------------------------------------------===//

Error Journal::recordIdeas(StringRef name, ArrayRef<Idea> ideas,
                           double elapsed) {
  json::Array list;
  for (const Idea &idea : ideas)
    list.push_back(json::Object{{"id", json::fixUTF8(idea.id)},
                                {"category", stringify(idea.category)},
                                {"title", json::fixUTF8(idea.title)},
                                {"text", json::fixUTF8(idea.text)},
                                {"parent", idea.parent}});
  return append(text(json::Object{{"type", "ideas"},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {"ideas", std::move(list)}}));
}

std::optional<Journal::Recorded<std::vector<Idea>>>
Journal::findIdeas(StringRef name) {
  const Event *event = find("ideas", name);
  if (!event)
    return std::nullopt;
  Recorded<std::vector<Idea>> result{{}, event->elapsed};
  if (const json::Array *list = event->fields.getArray("ideas"))
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject()) {
        auto field = [&](StringRef key) {
          return object->getString(key).value_or("").str();
        };
        Idea idea;
        idea.id = field("id");
        idea.category =
            parseIdeaCategory(field("category")).value_or(idea.category);
        idea.title = field("title");
        idea.text = field("text");
        idea.parent = field("parent");
        result.value.push_back(std::move(idea));
      }
  return result;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static std::string programPath(StringRef directory, Language language,
                               StringRef digest) {
  StringRef extension = sys::path::extension(programFileName(language));
  return (directory + "/programs/" + digest + extension).str();
}

Expected<std::string> Journal::storeProgram(const Variant &variant) {
  std::string digest = sha256(variant.program);
  std::string path = programPath(directory, variant.language, digest);
  if (Error error = storeFile(path, variant.program))
    return std::move(error);
  return digest;
}

Error Journal::storeFile(const std::string &path, StringRef content) {
  return sys::fs::exists(path) ? Error::success()
                               : writeFileAtomically(path, content);
}

Expected<std::string> Journal::loadFile(const std::string &path,
                                        StringRef digest) {
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!content)
    return content;
  if (sha256(*content) != digest)
    return damaged(Twine(path) +
                   ": was changed: its content no longer has the digest in "
                   "its name; restore it, or start another journal with "
                   "--journal=DIR");
  return content;
}

Error Journal::recordVariants(StringRef name, ArrayRef<Variant> variants,
                              double elapsed) {
  json::Array list;
  for (const Variant &variant : variants) {
    // The program first: an event never names a file that is not there.
    Expected<std::string> digest = storeProgram(variant);
    if (!digest)
      return digest.takeError();
    json::Object parameters;
    for (auto &[parameter, value] : variant.parameters)
      parameters[json::fixUTF8(parameter)] = value;
    json::Object fields{{"idea", json::fixUTF8(variant.ideaId)},
                        {"language", stringifyLanguage(variant.language)},
                        {"program", *digest},
                        {"workspace_bytes", variant.workspaceBytes},
                        {"parameters", std::move(parameters)},
                        {"parent", variant.parent},
                        {"problem", json::fixUTF8(variant.problem)}};
    // As text: its numbers and their types are the plan's own business.
    if (variant.plan)
      fields["plan"] = worker::toJSON(*variant.plan);
    list.push_back(std::move(fields));
  }
  return append(text(json::Object{{"type", "variants"},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {"variants", std::move(list)}}));
}

Expected<std::optional<Journal::Recorded<std::vector<Variant>>>>
Journal::findVariants(StringRef name) {
  const Event *event = find("variants", name);
  if (!event)
    return std::nullopt;
  Recorded<std::vector<Variant>> result{{}, event->elapsed};
  const json::Array *list = event->fields.getArray("variants");
  if (!list)
    return result;
  for (const json::Value &value : *list) {
    const json::Object *object = value.getAsObject();
    if (!object)
      continue;
    Variant variant;
    variant.ideaId = object->getString("idea").value_or("").str();
    variant.language =
        symbolizeLanguage(object->getString("language").value_or(""))
            .value_or(Language::c);
    variant.workspaceBytes = object->getInteger("workspace_bytes").value_or(0);
    variant.parent = object->getString("parent").value_or("").str();
    variant.problem = object->getString("problem").value_or("").str();
    if (const json::Object *parameters = object->getObject("parameters"))
      for (auto &[parameter, number] : *parameters)
        variant.parameters[parameter.str()] = number.getAsInteger().value_or(0);
    if (std::optional<StringRef> plan = object->getString("plan")) {
      std::string problem;
      variant.plan = worker::parseLaunchPlan(plan->str(), problem);
      if (!variant.plan)
        return damaged(Twine(filePath()) + ": the plan of a variant of '" +
                       name + "' cannot be read: " + problem +
                       "; start another journal with --journal=DIR");
    }
    StringRef digest = object->getString("program").value_or("");
    Expected<std::string> program =
        loadFile(programPath(directory, variant.language, digest), digest);
    if (!program)
      return program.takeError();
    variant.program = std::move(*program);
    result.value.push_back(std::move(variant));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Error Journal::recordVerdict(StringRef name, const worker::Verdict &verdict,
                             double elapsed) {
  std::string body = text(json::Object{
      {"type", "evaluation"}, {"name", name}, {"elapsed", elapsed}});
  body.pop_back();
  body += kVerdictField.str() + worker::toJSON(verdict) + "}";
  return append(body);
}

std::optional<Journal::Recorded<worker::Verdict>>
Journal::findVerdict(StringRef name) {
  const Event *event = find("evaluation", name);
  if (!event || !event->verdict)
    return std::nullopt;
  if (event->verdict->status == worker::Status::Error &&
      unjudged.contains(name))
    return std::nullopt;
  return Recorded<worker::Verdict>{*event->verdict, event->elapsed};
}

Error Journal::recordUnjudged(ArrayRef<std::string> names, double elapsed) {
  return append(text(json::Object{{"type", kUnjudged},
                                  {"name", kUnjudged},
                                  {"elapsed", elapsed},
                                  {kUnjudged, json::Array(names)}}));
}

int Journal::failedEvaluations(StringRef name) const {
  const Event *event = find("evaluation", name);
  return event ? event->failures : 0;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kDevice = "device";

std::optional<TargetDescription> Journal::findDevice() const {
  const Event *event = find(kDevice, kDevice);
  const json::Object *fields =
      event ? event->fields.getObject(kDevice) : nullptr;
  if (!fields)
    return std::nullopt;
  TargetDescription device;
  device.target = fields->getString("target").value_or("").str();
  forEachTargetField(device, [&](StringRef name, auto &value) {
    using Type = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, std::string>)
      value = fields->getString(name).value_or("").str();
    else if constexpr (std::is_same_v<Type, bool>)
      value = fields->getBoolean(name).value_or(value);
    else
      value = numberAs<Type>(fields->getNumber(name).value_or(0));
  });
  return device;
}

Error Journal::recallDevice(TargetDescription &device) {
  if (std::optional<TargetDescription> recorded = findDevice()) {
    device = std::move(*recorded);
    return Error::success();
  }
  json::Object fields{{"target", device.target}};
  forEachTargetField(device, [&](StringRef name, const auto &value) {
    if constexpr (std::is_same_v<decltype(value), const std::string &>)
      fields[name] = json::fixUTF8(value);
    else
      fields[name] = value;
  });
  return append(text(json::Object{{"type", kDevice},
                                  {"name", kDevice},
                                  {"elapsed", elapsed},
                                  {kDevice, std::move(fields)}}));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Error Journal::recallCounts(StringRef name, std::vector<int> &counts,
                            double elapsed) {
  constexpr StringLiteral kCounts = "counts";
  if (const Event *event = find(kCounts, name)) {
    counts.clear();
    if (const json::Array *list = event->fields.getArray(kCounts))
      for (const json::Value &value : *list)
        counts.push_back(static_cast<int>(value.getAsInteger().value_or(0)));
    return Error::success();
  }
  return append(text(json::Object{{"type", kCounts},
                                  {"name", name},
                                  {"elapsed", elapsed},
                                  {kCounts, json::Array(counts)}}));
}
