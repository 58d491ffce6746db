//===- RemoteBank.cpp - A bank behind HTTP --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ReadEntry.h"
#include "RemoteCache.h"
#include "RemoteIndex.h"
#include "RemoteStore.h"
#include "WinnerObject.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace llvm;
using namespace fastk;

/// A compile waits no longer for one bank, all its requests together.
static constexpr double kMostSecondsInAll = 6;
/// A failure that took longer is not repeated at once.
static constexpr double kWorthRemembering = 0.5;
/// Far above any pattern's.
static constexpr unsigned kMostReductions = 4096;
/// Of a root with all shards of several targets; of a shard.
static constexpr size_t kRootLimit = size_t(8) << 20;
static constexpr size_t kShardLimit = size_t(8) << 20;

RemoteBank::~RemoteBank() = default;

namespace {

/// A shard that is not here: its target and digits.
using ShardName = std::pair<std::string, std::string>;

class HttpBank : public RemoteBank {
public:
  HttpBank(RemotePlace place, Patience patience)
      : cache(place.url.str()), patience(patience),
        store(std::move(place), patience) {}

  std::string shown() const override { return store.getPlace().shown(); }
  bool isTrusted() const override { return store.getPlace().isTrusted; }
  std::optional<unsigned> mostReductions(StringRef target) override;
  uint64_t size() override;
  Found find(StringRef key, const WinnerFilter &filter) override;
  void lookAhead(bool start) override { isLooking = start; }
  std::vector<std::string> fetchNoted() override;
  Expected<std::vector<RemoteWinner>> list(StringRef target) override;
  std::vector<BankEntry> fetch(ArrayRef<RemoteWinner> winners) override;
  bool isWanted(const RemoteWinner &winner) override {
    return cache.isWanted(winner.digest);
  }
  Error writeJudgement(StringRef digest, StringRef machine,
                       StringRef problem) override {
    return cache.writeJudgement(digest, machine, problem);
  }
  std::vector<std::string> takeWarnings() override {
    return std::exchange(warnings, {});
  }

private:
  /// What keeps a winner of the index from being used.
  enum class Obstacle { None, Filter, Judge, Refused };

  const RemoteRoot &askRoot();
  void useRoot(const RemoteAnswer &answer, std::optional<RemoteRoot> known);
  const std::vector<RemoteWinner> *shardOf(StringRef target, StringRef digits);
  std::vector<ShardName> missingShards(const std::string &name,
                                       const RemoteTarget &target);
  void fetchShards(ArrayRef<ShardName> names);
  const std::vector<RemoteWinner> *winnersNear(const RemoteTarget &target,
                                               StringRef name, StringRef key);
  Obstacle obstacleOf(const RemoteWinner &winner, const WinnerFilter &filter,
                      std::string &why);
  std::map<std::string, std::string>
  fetchWinners(ArrayRef<const RemoteWinner *> winners);
  void prepare(ArrayRef<std::pair<std::string, WinnerFilter>> wanted);
  /// Asks for parts of the index.
  std::vector<RemoteAnswer> ask(ArrayRef<RemoteGet> requests);
  /// Takes note of an answer that is a failure.
  void noteProblem(const RemoteAnswer &answer);
  void checkPatience();
  /// Says that the server is not asked any more, and why.
  void giveUp(StringRef problem);

  RemoteCache cache;
  Patience patience;
  RemoteStore store;
  RemoteRoot root;
  bool isRootKnown = false, isDown = false, isLooking = false;
  std::string whyDown;
  std::map<ShardName, std::vector<RemoteWinner>> shards;
  std::vector<std::pair<std::string, WinnerFilter>> noted;
  /// Winners that could not be had, and why: not asked for again.
  StringMap<std::string> failed;
  std::vector<std::string> warnings;
};
} // namespace

void HttpBank::giveUp(StringRef problem) {
  if (isDown)
    return;
  isDown = true;
  whyDown = problem.str();
  warnings.push_back("bank " + shown() + ": " + whyDown +
                     "; what the cache has of it is used, the rest are misses");
}

void HttpBank::noteProblem(const RemoteAnswer &answer) {
  if (answer.problem.empty() || isDown)
    return;
  // Of what cost no time the next compile may find out for itself.
  if (store.getSecondsWaited() > kWorthRemembering)
    cache.setDown(answer.problem);
  giveUp(answer.problem);
}

void HttpBank::checkPatience() {
  if (patience == Patience::Compile &&
      store.getSecondsWaited() > kMostSecondsInAll)
    giveUp("answers slowly");
}

std::vector<RemoteAnswer> HttpBank::ask(ArrayRef<RemoteGet> requests) {
  std::vector<RemoteAnswer> answers = store.get(requests);
  for (const RemoteAnswer &answer : answers)
    noteProblem(answer);
  checkPatience();
  return answers;
}

void HttpBank::useRoot(const RemoteAnswer &answer,
                       std::optional<RemoteRoot> known) {
  if (!answer.problem.empty())
    return;
  if (answer.status == 404)
    return giveUp("has no index; it is empty until somebody pushes a winner, "
                  "or the URL is not that of a bank");
  Expected<RemoteRoot> fresh = parseRemoteRoot(answer.body);
  if (!fresh)
    return giveUp(toString(fresh.takeError()));
  if (known && known->id == fresh->id && known->generation > fresh->generation)
    return giveUp("serves an older index than before (change " +
                  std::to_string(fresh->generation) + " after " +
                  std::to_string(known->generation) +
                  "); if it was restored from a backup remove " +
                  cache.bankFolder() + " here");
  cache.writeRoot(answer.etag, answer.body);
  root = std::move(*fresh);
}

const RemoteRoot &HttpBank::askRoot() {
  if (std::exchange(isRootKnown, true))
    return root;
  std::optional<RemoteCache::Root> cached = cache.readRoot();
  std::optional<RemoteRoot> known;
  if (cached) {
    Expected<RemoteRoot> parsed = parseRemoteRoot(cached->text);
    if (parsed)
      known = root = std::move(*parsed);
    else
      consumeError(parsed.takeError());
  }
  if (patience == Patience::Compile) {
    if (known && cached->ageSeconds < store.getPlace().maxAgeSeconds)
      return root;
    if (std::optional<std::string> why = cache.whyDown()) {
      giveUp(*why + " (a moment ago)");
      return root;
    }
  }
  std::string etag = known ? cached->etag : "";
  RemoteAnswer answer = ask({{remoteRootPath(), etag, kRootLimit}}).front();
  if (answer.status == 304 && known)
    cache.writeRoot(cached->etag, cached->text);
  else
    useRoot(answer, std::move(known));
  return root;
}

std::optional<unsigned> HttpBank::mostReductions(StringRef target) {
  const RemoteRoot &known = askRoot();
  auto found = known.targets.find(target.str());
  if (found == known.targets.end() || found->second.count == 0)
    return std::nullopt;
  // Few shards are fetched at once, all of them: then a compile knows what
  // there is before it asks.
  if (found->second.digits == 1)
    fetchShards(missingShards(found->first, found->second));
  return std::min(found->second.reductions, kMostReductions);
}

uint64_t HttpBank::size() {
  uint64_t count = 0;
  for (const auto &[name, target] : askRoot().targets)
    count += target.count;
  return count;
}

/// The shard if it is here; null if it is not.
const std::vector<RemoteWinner> *HttpBank::shardOf(StringRef target,
                                                   StringRef digits) {
  ShardName name(target.str(), digits.str());
  if (auto found = shards.find(name); found != shards.end())
    return &found->second;
  const RemoteTarget &known = root.targets[target.str()];
  auto digest = known.shards.find(digits.str());
  if (digest == known.shards.end())
    return &shards[name];
  std::optional<std::string> text = cache.readObject(digest->second);
  if (!text)
    return nullptr;
  Expected<std::vector<RemoteWinner>> winners =
      parseRemoteShard(*text, target, digits);
  if (!winners) {
    giveUp(toString(winners.takeError()));
    return &shards[name];
  }
  return &(shards[name] = std::move(*winners));
}

/// The shards of a target that are not here.
std::vector<ShardName> HttpBank::missingShards(const std::string &name,
                                               const RemoteTarget &target) {
  std::vector<ShardName> missing;
  for (const auto &[digits, digest] : target.shards)
    if (!shardOf(name, digits))
      missing.emplace_back(name, digits);
  return missing;
}

void HttpBank::fetchShards(ArrayRef<ShardName> names) {
  if (isDown || names.empty())
    return;
  std::vector<RemoteGet> requests;
  for (const auto &[target, digits] : names)
    requests.push_back({remoteObjectPath(root.targets[target].shards[digits]),
                        "", kShardLimit});
  std::vector<RemoteAnswer> answers = ask(requests);
  for (auto [name, answer] : llvm::zip_equal(names, answers)) {
    if (!answer.problem.empty())
      continue;
    const std::string &digest = root.targets[name.first].shards[name.second];
    if (answer.status != 200 || sha256(answer.body) != digest) {
      giveUp(answer.status == 404
                 ? "has lost a part of its index (" + digest + ")"
                 : "serves a part of its index that is not what its digest "
                   "says (" +
                       digest + ")");
      continue;
    }
    Expected<std::vector<RemoteWinner>> winners =
        parseRemoteShard(answer.body, name.first, name.second);
    if (!winners) {
      giveUp(toString(winners.takeError()));
      continue;
    }
    cache.writeObject(digest, answer.body);
    shards[name] = std::move(*winners);
  }
}

/// The winners among which those of `key` are; null where they are not here.
const std::vector<RemoteWinner> *
HttpBank::winnersNear(const RemoteTarget &target, StringRef name,
                      StringRef key) {
  if (target.digits == 0)
    return &target.winners;
  return shardOf(name, key.take_front(target.digits));
}

HttpBank::Obstacle HttpBank::obstacleOf(const RemoteWinner &winner,
                                        const WinnerFilter &filter,
                                        std::string &why) {
  const WinnerHeader &head = winner.header;
  if (head.precision > filter.loosest || !filter.refuseMachine(head).empty() ||
      !filter.refuseBits(head).empty())
    return Obstacle::Filter;
  if (isTrusted() || filter.takesUnjudged)
    return Obstacle::None;
  std::optional<std::string> judged =
      cache.readJudgement(winner.digest, filter.machine.str());
  if (!judged)
    return Obstacle::Judge;
  why = *judged;
  return judged->empty() ? Obstacle::None : Obstacle::Refused;
}

/// Brings winners into the cache; why each of those that failed did.
std::map<std::string, std::string>
HttpBank::fetchWinners(ArrayRef<const RemoteWinner *> winners) {
  std::vector<const RemoteWinner *> wanted;
  StringSet<> seen;
  std::map<std::string, std::string> problems;
  for (const RemoteWinner *winner : winners) {
    if (!seen.insert(winner->digest).second || cache.hasWinner(winner->digest))
      continue;
    if (auto known = failed.find(winner->digest); known != failed.end())
      problems[winner->digest] = known->second;
    else if (isDown)
      problems[winner->digest] = "it is not in the cache";
    else
      wanted.push_back(winner);
  }
  if (wanted.empty())
    return problems;
  std::vector<RemoteGet> requests;
  for (const RemoteWinner *winner : wanted)
    requests.push_back(
        {remoteObjectPath(winner->digest), "", kRemoteWinnerLimit});
  // What is wrong with a winner alone.
  std::vector<std::string> wrong(wanted.size());
  store.get(requests, [&](size_t index, const RemoteAnswer &answer) {
    const std::string &digest = wanted[index]->digest;
    // One that is too large says nothing of the others, an index does.
    if (!answer.problem.empty() && !answer.isTooLarge) {
      problems[digest] = failed[digest] = answer.problem;
      return noteProblem(answer);
    }
    std::string problem = answer.problem;
    if (problem.empty() && answer.status != 200)
      problem = "the bank has it no more";
    else if (problem.empty() && sha256(answer.body) != digest)
      problem = "it is not what its digest says: damaged, or exchanged";
    else if (problem.empty())
      problem = toString(cache.storeWinner(digest, answer.body));
    if (!problem.empty())
      problems[digest] = failed[digest] = wrong[index] = problem;
  });
  checkPatience();
  std::string first;
  size_t bad = 0;
  for (auto [winner, problem] : llvm::zip_equal(wanted, wrong)) {
    if (problem.empty())
      continue;
    if (first.empty())
      first = winner->header.name + " (" + winner->digest.substr(0, 16) +
              "): " + problem;
    ++bad;
  }
  if (bad > 0)
    warnings.push_back(
        "bank " + shown() + ": " + first +
        (bad > 1 ? "; so it is with " + std::to_string(bad - 1) + " more"
                 : ""));
  return problems;
}

/// Brings here what find() needs for these keys: two rounds of requests at
/// most.
void HttpBank::prepare(ArrayRef<std::pair<std::string, WinnerFilter>> wanted) {
  const RemoteRoot &known = askRoot();
  std::vector<ShardName> names;
  for (const auto &[key, filter] : wanted) {
    auto target = known.targets.find(filter.target);
    if (target != known.targets.end() &&
        !winnersNear(target->second, filter.target, key))
      names.emplace_back(filter.target, key.substr(0, target->second.digits));
  }
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  fetchShards(names);
  std::vector<const RemoteWinner *> winners;
  for (const auto &[key, filter] : wanted) {
    auto target = known.targets.find(filter.target);
    if (target == known.targets.end())
      continue;
    const std::vector<RemoteWinner> *near =
        winnersNear(target->second, filter.target, key);
    std::string why;
    if (near)
      for (const RemoteWinner &winner : *near)
        if (winner.header.key == key &&
            obstacleOf(winner, filter, why) == Obstacle::None)
          winners.push_back(&winner);
  }
  (void)fetchWinners(winners);
}

std::vector<std::string> HttpBank::fetchNoted() {
  std::vector<std::pair<std::string, WinnerFilter>> wanted =
      std::exchange(noted, {});
  std::vector<std::string> keys;
  if (wanted.empty())
    return keys;
  prepare(wanted);
  for (const auto &[key, filter] : wanted)
    keys.push_back(key);
  return keys;
}

RemoteBank::Found HttpBank::find(StringRef key, const WinnerFilter &filter) {
  Found found;
  const RemoteRoot &known = askRoot();
  auto target = known.targets.find(filter.target);
  if (target == known.targets.end())
    return found;
  const std::vector<RemoteWinner> *near =
      winnersNear(target->second, filter.target, key);
  auto isOfKey = [&](const RemoteWinner &winner) {
    return winner.header.key == key;
  };
  std::string why;
  auto isToFetch = [&](const RemoteWinner &winner) {
    return isOfKey(winner) &&
           obstacleOf(winner, filter, why) == Obstacle::None &&
           !cache.hasWinner(winner.digest) && !failed.contains(winner.digest);
  };
  if (!isDown && (!near || llvm::any_of(*near, isToFetch))) {
    if (isLooking) {
      noted.emplace_back(key.str(), filter);
      found.isExpected = near != nullptr;
      return found;
    }
    prepare({{key.str(), filter}});
    near = winnersNear(target->second, filter.target, key);
  }
  if (!near)
    return found;
  for (const RemoteWinner &winner : llvm::make_filter_range(*near, isOfKey)) {
    std::string of = "a winner in " + shown() + " ";
    switch (obstacleOf(winner, filter, why)) {
    case Obstacle::Filter:
      found.entries.push_back({winner.digest, winner.header, ""});
      break;
    case Obstacle::Judge:
      cache.markWanted(winner.digest);
      found.isUnjudged = true;
      found.missing =
          of + "was not judged on this machine: 'fastk-bank judge " + shown() +
          "' judges it, '#trusted' after the bank's URL "
          "takes it as it is";
      break;
    case Obstacle::Refused:
      found.missing = of + "does not hold on this machine: " + why;
      break;
    case Obstacle::None:
      if (cache.hasWinner(winner.digest))
        found.entries.push_back(
            readBankEntry(cache.winnerFolder(winner.digest)));
      else
        found.missing =
            of + "could not be fetched: " +
            (failed.contains(winner.digest) ? failed[winner.digest]
                                            : "it is not in the cache");
    }
  }
  return found;
}

Expected<std::vector<RemoteWinner>> HttpBank::list(StringRef target) {
  const RemoteRoot &known = askRoot();
  std::vector<RemoteWinner> all;
  for (const auto &[name, each] : known.targets) {
    if (!target.empty() && name != target)
      continue;
    fetchShards(missingShards(name, each));
    for (const auto &[digits, digest] : each.shards)
      if (const std::vector<RemoteWinner> *shard = shardOf(name, digits))
        llvm::append_range(all, *shard);
    llvm::append_range(all, each.winners);
  }
  // A part of a list would pass for all of it.
  if (isDown)
    return createStringError("bank " + shown() + ": " + whyDown);
  return all;
}

std::vector<BankEntry> HttpBank::fetch(ArrayRef<RemoteWinner> winners) {
  // Each slice is in the cache before the next one is in memory.
  constexpr size_t kSlice = 64;
  std::map<std::string, std::string> problems;
  for (ArrayRef<RemoteWinner> left = winners; !left.empty();
       left = left.drop_front(std::min(kSlice, left.size()))) {
    std::vector<const RemoteWinner *> wanted;
    for (const RemoteWinner &winner : left.take_front(kSlice))
      wanted.push_back(&winner);
    problems.merge(fetchWinners(wanted));
  }
  std::vector<BankEntry> entries;
  for (const RemoteWinner &winner : winners) {
    if (auto problem = problems.find(winner.digest); problem != problems.end())
      entries.push_back({shown() + remoteObjectPath(winner.digest),
                         std::nullopt, problem->second});
    else
      entries.push_back(readBankEntry(cache.winnerFolder(winner.digest)));
  }
  return entries;
}

namespace {
/// Where nothing can be asked at all.
class NoBank : public RemoteBank {
public:
  NoBank(std::string place, std::string why)
      : place(std::move(place)), why(std::move(why)) {}

  std::string shown() const override { return place; }
  bool isTrusted() const override { return false; }
  std::optional<unsigned> mostReductions(StringRef) override {
    return std::nullopt;
  }
  uint64_t size() override { return 0; }
  Found find(StringRef, const WinnerFilter &) override { return {}; }
  void lookAhead(bool) override {}
  std::vector<std::string> fetchNoted() override { return {}; }
  Expected<std::vector<RemoteWinner>> list(StringRef) override {
    return createStringError("bank " + place + ": " + why);
  }
  std::vector<BankEntry> fetch(ArrayRef<RemoteWinner>) override { return {}; }
  bool isWanted(const RemoteWinner &) override { return false; }
  Error writeJudgement(StringRef, StringRef, StringRef) override {
    return Error::success();
  }
  std::vector<std::string> takeWarnings() override {
    if (std::exchange(isSaid, true))
      return {};
    return {"bank " + place + ": " + why};
  }

private:
  std::string place, why;
  bool isSaid = false;
};
} // namespace

Expected<std::shared_ptr<RemoteBank>> RemoteBank::open(StringRef text,
                                                       Patience patience) {
  if (std::string why = explainNoHttp(); !why.empty())
    return std::make_shared<NoBank>(text.split('#').first.str(), why);
  Expected<RemotePlace> place = parseRemotePlace(text);
  if (!place)
    return place.takeError();
  return std::make_shared<HttpBank>(std::move(*place), patience);
}
