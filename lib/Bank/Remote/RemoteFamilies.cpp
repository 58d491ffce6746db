//===- RemoteFamilies.cpp - Families in a bank behind HTTP ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/RemoteFamilies.h"
#include "FamilyObject.h"
#include "RemoteIndex.h"
#include "RemoteStore.h"
#include "WinnerObject.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace llvm;
using namespace fastk;

static constexpr int64_t kFormat = 1;
static constexpr size_t kListLimit = size_t(16) << 20;

/// Where the list is.
static std::string listPath() {
  return "/ac/" + sha256("fastk families " + std::to_string(kFormat));
}

namespace {

/// The digests of the families of a bank, by "TARGET/NAME".
using FamilyList = std::map<std::string, std::string>;

class FamilyBank {
public:
  explicit FamilyBank(RemotePlace place)
      : store(std::move(place), Patience::Transfer) {}

  Error read();
  /// Writes it, but where others have changed it meanwhile.
  Error write();
  Error send(ArrayRef<RemotePut> puts);
  /// An object; or "" and why this one cannot be had. An error says why none
  /// can.
  Expected<std::string> object(const std::string &digest, std::string &why);

  FamilyList list;

private:
  /// The list as it is there now, or status 404.
  Expected<RemoteAnswer> ask();
  Error failed(const Twine &what) const {
    return createStringError("bank " + store.getPlace().shown() + ": " + what);
  }

  RemoteStore store;
  std::string text, etag;
};

} // namespace

static Expected<FamilyList> parseList(StringRef text) {
  auto malformed = [](const Twine &what) {
    return createStringError(std::make_error_code(std::errc::bad_message),
                             "its list of families " + what);
  };
  Expected<json::Value> value = parseShallowJSON(text);
  if (!value)
    return malformed("is no JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("fastk") != StringRef("families"))
    return malformed("is none");
  if (object->getInteger("format") != kFormat)
    return malformed("has another format than " + Twine(kFormat) +
                     ", the one that this fastk reads");
  const json::Array *families = object->getArray("families");
  if (!families)
    return malformed("has no 'families'");
  FamilyList list;
  for (const json::Value &each : *families) {
    const json::Object *family = each.getAsObject();
    auto text = [&](StringRef field) {
      return family ? family->getString(field).value_or("") : StringRef();
    };
    StringRef target = text("target"), name = text("name"),
              digest = text("object");
    if (!isPlainName(target) || !isPlainName(name) || !isDigest(digest))
      return malformed("has one whose target, name or object is none");
    list[(target + "/" + name).str()] = digest.str();
  }
  return list;
}

static std::string printList(const FamilyList &list) {
  json::Array families;
  for (const auto &[place, digest] : list) {
    auto [target, name] = StringRef(place).split('/');
    families.push_back(
        json::Object{{"target", target}, {"name", name}, {"object", digest}});
  }
  std::string text;
  raw_string_ostream(text) << formatv(
      "{0:2}\n", json::Value(json::Object{{"fastk", "families"},
                                          {"format", kFormat},
                                          {"families", std::move(families)}}));
  return text;
}

Expected<RemoteAnswer> FamilyBank::ask() {
  RemoteAnswer answer = store.get({{listPath(), "", kListLimit}}).front();
  if (!answer.problem.empty())
    return failed(answer.problem);
  return std::move(answer);
}

Error FamilyBank::read() {
  Expected<RemoteAnswer> answer = ask();
  if (!answer)
    return answer.takeError();
  list.clear();
  text.clear();
  etag.clear();
  if (answer->status == 404)
    return Error::success();
  Expected<FamilyList> parsed = parseList(answer->body);
  if (!parsed)
    return failed(toString(parsed.takeError()) + "; nothing was changed");
  list = std::move(*parsed);
  text = std::move(answer->body);
  etag = std::move(answer->etag);
  return Error::success();
}

Error FamilyBank::write() {
  // Many servers do not look at If-Match: so it is read once more.
  Expected<RemoteAnswer> now = ask();
  if (!now)
    return now.takeError();
  if (now->status == 404 ? !text.empty() : now->body != text)
    return Error::success();
  RemotePut put{listPath(), printList(list), etag,
                /*onlyNew=*/text.empty()};
  return send({put});
}

Error FamilyBank::send(ArrayRef<RemotePut> puts) {
  for (const RemoteAnswer &answer : store.put(puts))
    if (!answer.problem.empty())
      return failed(answer.problem);
  return Error::success();
}

Expected<std::string> FamilyBank::object(const std::string &digest,
                                         std::string &why) {
  RemoteAnswer answer =
      store.get({{remoteObjectPath(digest), "", kRemoteWinnerLimit}}).front();
  if (!answer.problem.empty() && !answer.isTooLarge)
    return failed(answer.problem);
  if (answer.status == 200 && sha256(answer.body) == digest)
    return std::move(answer.body);
  why = answer.isTooLarge
            ? "is larger than a family may be"
            : "the server has lost or damaged it (" + digest + ")";
  return "";
}

static Expected<FamilyBank> openBank(StringRef url) {
  if (std::string why = explainNoHttp(); !why.empty())
    return createStringError(why);
  Expected<RemotePlace> place = parseRemotePlace(url);
  if (!place)
    return place.takeError();
  return FamilyBank(std::move(*place));
}

Expected<std::vector<SyncOutcome>>
fastk::pushFamilies(StringRef url, ArrayRef<FamilyFolder> families,
                    bool replaces) {
  Expected<FamilyBank> bank = openBank(url);
  if (!bank)
    return bank.takeError();
  std::vector<std::string> objects;
  std::vector<SyncOutcome> outcomes;
  for (const FamilyFolder &family : families) {
    Expected<std::string> object = packFamily(family);
    if (!object)
      return object.takeError();
    objects.push_back(std::move(*object));
    outcomes.push_back(
        {family.target + "/" + family.name, SyncOutcome::Kept, ""});
  }
  // Until they are all there: where nobody looks at If-Match, somebody else's
  // list may come right behind this one.
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0)
      pauseForOthers();
    if (Error error = bank->read())
      return std::move(error);
    std::vector<RemotePut> puts;
    for (auto [object, outcome] : zip_equal(objects, outcomes)) {
      std::string digest = sha256(object);
      auto [at, isNew] = bank->list.try_emplace(outcome.place, digest);
      if (!isNew && at->second == digest)
        continue;
      if (!isNew && !replaces) {
        outcome = {outcome.place, SyncOutcome::LeftOut, kIsAnotherFamily.str()};
        continue;
      }
      // Later attempts find what this one brought.
      if (outcome.kind == SyncOutcome::Kept)
        outcome.kind = isNew ? SyncOutcome::Stored : SyncOutcome::Replaced;
      at->second = digest;
      puts.push_back({remoteObjectPath(digest), object});
    }
    if (puts.empty())
      return outcomes;
    // The list last: who reads it finds all that it names.
    if (Error error = bank->send(puts))
      return std::move(error);
    if (Error error = bank->write())
      return std::move(error);
  }
  return createStringError("bank " + url +
                           ": others changed its list of families each time; "
                           "run the same command again");
}

Error fastk::pullFamilies(StringRef url, StringRef into, StringRef onlyTarget,
                          bool replaces,
                          function_ref<Error(const FamilyFolder &)> check,
                          function_ref<void(const SyncOutcome &)> told) {
  Expected<FamilyBank> bank = openBank(url);
  if (!bank)
    return bank.takeError();
  if (Error error = bank->read())
    return error;
  for (const auto &[place, digest] : bank->list) {
    auto [target, name] = StringRef(place).split('/');
    if (!onlyTarget.empty() && target != onlyTarget)
      continue;
    std::string why;
    Expected<std::string> object = bank->object(digest, why);
    if (!object)
      return object.takeError();
    if (!why.empty()) {
      told({place, SyncOutcome::LeftOut, why});
      continue;
    }
    Expected<SyncOutcome> outcome = placeFamily(
        *object, {target.str(), name.str(), (into + "/" + place).str()},
        replaces, check);
    if (!outcome)
      return outcome.takeError();
    told(*outcome);
  }
  return Error::success();
}
