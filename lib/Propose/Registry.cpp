//===- Registry.cpp - Proposers by name -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A new proposer is one line here; see docs/extending.md.
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Registry.h"
#include "fastk/LLM/BackgroundModel.h"
#include "fastk/LLM/CommandModel.h"
#include "fastk/LLM/HttpModel.h"
#include "fastk/LLM/Mailbox.h"
#include "fastk/Propose/LLM/LLMProposer.h"
#include "fastk/Propose/LLM/ReplayModel.h"
#include "fastk/Support/ShippedFolder.h"
#include "fastk/Support/WatchedFolder.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

namespace {
using Created = Expected<std::unique_ptr<Proposer>>;

struct Registered {
  /// "catalog"; with a colon at its end: what follows is `argument`.
  StringLiteral prefix;
  /// How users see it.
  StringLiteral shown;
  Created (*create)(StringRef argument, const ProposerOptions &options);
};
} // namespace

/// The proposer that asks `model`.
static Created asking(Expected<std::unique_ptr<LanguageModel>> model,
                      const ProposerOptions &options) {
  if (!model)
    return model.takeError();
  Expected<PromptTemplates> templates = PromptTemplates::load(options.prompts);
  if (!templates)
    return templates.takeError();
  LLMProposerOptions proposer;
  if (options.number > 1)
    proposer.idPrefix += std::to_string(options.number);
  if (std::optional<Writing> writing = parseWriting(options.writes))
    proposer.writing = *writing;
  // Without the folder there are none to be shown.
  if (std::optional<std::string> folder = shippedFolder("families");
      folder && proposer.writing == Writing::Families)
    if (Error error = families::readFamiliesOf(options.target, *folder)
                          .moveInto(proposer.families))
      return std::move(error);
  return createLLMProposer(std::move(*model), std::move(*templates), proposer);
}

/// The same for a model that takes its time.
static Created askingSlow(const ModelFactory &make,
                          const ProposerOptions &options) {
  return asking(options.asksMeanwhile ? createBackgroundModel(make) : make(),
                options);
}

/// "PROVIDER:MODEL".
static Created askingProvider(StringRef name, const ProposerOptions &options) {
  Expected<ModelOptions> model = parseModelOptions(name);
  if (!model)
    return model.takeError();
  for (auto [said, field] :
       {std::pair(&options.baseUrl, &model->baseUrl),
        std::pair(&options.keyVariable, &model->keyVariable),
        std::pair(&options.extraBody, &model->extraBody),
        std::pair(&options.priceTable, &model->priceTable)})
    if (!said->empty())
      *field = *said;
  if (options.timeoutSeconds > 0)
    model->timeoutSeconds = options.timeoutSeconds;
  return askingSlow([model = *model] { return createHttpModel(model); },
                    options);
}

static bool namesProvider(StringRef name) {
  return name.contains(':') && isModelProvider(name.split(':').first);
}

static constexpr Registered kProposers[] = {
    {"catalog", "catalog",
     [](StringRef, const ProposerOptions &) -> Created {
       return createCatalogProposer();
     }},
    {"families", "families",
     [](StringRef, const ProposerOptions &) {
       return createFamilyProposer("");
     }},
    {"families:", "families:DIR",
     [](StringRef directory, const ProposerOptions &) {
       return createFamilyProposer(directory);
     }},
    {"files:", "files:DIR",
     [](StringRef directory, const ProposerOptions &) {
       return createFilesProposer(directory);
     }},
    {"mailbox:", "mailbox:DIR[?wait=SECONDS]",
     [](StringRef text, const ProposerOptions &options) -> Created {
       Expected<WatchedFolder> folder = parseWatchedFolder("mailbox", text);
       if (!folder)
         return folder.takeError();
       return asking(createMailbox(folder->directory, folder->waitSeconds,
                                   options.asksMeanwhile),
                     options);
     }},
    {"command:", "command:CMD",
     [](StringRef command, const ProposerOptions &options) {
       CommandModelOptions model;
       model.command = command.str();
       if (options.timeoutSeconds > 0)
         model.timeoutSeconds = options.timeoutSeconds;
       return askingSlow([model] { return createCommandModel(model); },
                         options);
     }},
    {"replay:", "replay:FILE",
     [](StringRef file, const ProposerOptions &options) {
       // What was asked for then, whatever is the default now.
       Writing wrote = Writing::Programs;
       auto model = createReplayModel(file, &wrote);
       ProposerOptions recorded = options;
       recorded.writes = stringify(wrote).str();
       return asking(std::move(model), recorded);
     }},
};

static const Registered *findProposer(StringRef name) {
  return find_if(kProposers, [&](const Registered &each) {
    return each.prefix.ends_with(":") ? name.starts_with(each.prefix)
                                      : name == each.prefix;
  });
}

std::string fastk::proposerNames() {
  std::string names;
  for (const Registered &each : kProposers)
    names += (names.empty() ? "" : ", ") + each.shown.str();
  return names + ", PROVIDER:MODEL (" + modelProviderNames() + ")";
}

Error fastk::checkProposerName(StringRef name) {
  if (StringRef text = name; text.consume_front("mailbox:"))
    return parseWatchedFolder("mailbox", text).takeError();
  if (findProposer(name) != std::end(kProposers) || namesProvider(name))
    return Error::success();
  return createStringError(inconvertibleErrorCode(),
                           "unknown proposer '" + name + "': known are " +
                               proposerNames());
}

Created fastk::createProposer(StringRef name, const ProposerOptions &options) {
  if (Error error = checkProposerName(name))
    return std::move(error);
  const Registered *found = findProposer(name);
  if (found == std::end(kProposers))
    return askingProvider(name, options);
  return found->create(name.drop_front(found->prefix.size()), options);
}
