//===- PushWinners.cpp - Winners into a bank behind HTTP ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/PushWinners.h"
#include "../ReadEntry.h"
#include "../Rivals.h"
#include "RemoteCache.h"
#include "RemoteIndex.h"
#include "RemoteStore.h"
#include "WinnerObject.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <chrono>
#include <map>
#include <random>

using namespace llvm;
using namespace fastk;

/// What is older is read again before it is replaced: a server that does not
/// look at If-Match must not be given the time to have got a newer one.
static constexpr double kFreshSeconds = 0.05;
static constexpr size_t kIndexLimit = size_t(64) << 20;

namespace {

/// A winner on its way.
struct Parcel {
  size_t index;
  RemoteWinner winner;
  std::string object;
};

class Pusher {
public:
  explicit Pusher(RemotePlace place)
      : cache(place.url.str()), store(std::move(place), Patience::Transfer),
        random(std::random_device()()) {}

  Expected<std::vector<SyncOutcome>> push(ArrayRef<std::string> folders);

private:
  using Clock = std::chrono::steady_clock;
  using Shards = std::map<std::string, std::vector<RemoteWinner>>;

  Error pack(ArrayRef<std::string> folders);
  Error readRoot();
  Expected<bool> isRootAsItWas();
  Error loadShards(StringRef name, RemoteTarget &target,
                   ArrayRef<Parcel *> parcels, Shards &shards);
  Expected<bool> changeTarget(StringRef name, RemoteTarget &target,
                              ArrayRef<Parcel *> parcels);
  bool decide(Parcel &parcel, std::vector<RemoteWinner> &rivals);
  Error send(std::vector<RemotePut> puts);
  Error failed(const Twine &what) const {
    return createStringError("bank " + store.getPlace().shown() + ": " + what);
  }

  RemoteCache cache;
  RemoteStore store;
  std::mt19937 random;
  std::vector<SyncOutcome> outcomes;
  std::vector<Parcel> parcels;
  /// Objects and shards that are there since this push.
  StringSet<> sent;
  /// What this attempt sends.
  std::vector<RemotePut> puts;
  RemoteRoot root;
  std::string rootText, rootEtag;
  Clock::time_point readAt;
};
} // namespace

Error Pusher::pack(ArrayRef<std::string> folders) {
  for (const std::string &folder : folders) {
    size_t index = outcomes.size();
    outcomes.push_back({folder, SyncOutcome::Kept, ""});
    BankEntry entry = readBankEntry(folder);
    Expected<std::string> object =
        entry.header ? packWinner(folder, entry.header->file)
                     : Expected<std::string>(createStringError(entry.problem));
    if (!object) {
      outcomes[index] = {folder, SyncOutcome::LeftOut,
                         toString(object.takeError())};
      continue;
    }
    RemoteWinner winner{sha256(*object), object->size(), *entry.header};
    parcels.push_back({index, std::move(winner), std::move(*object)});
  }
  return Error::success();
}

Error Pusher::readRoot() {
  RemoteAnswer answer =
      store.get({{remoteRootPath(), "", kIndexLimit}}).front();
  readAt = Clock::now();
  if (!answer.problem.empty())
    return failed(answer.problem);
  root = RemoteRoot();
  rootText.clear();
  rootEtag.clear();
  if (answer.status == 404) {
    for (int i = 0; i < 4; ++i)
      root.id += utohexstr(random(), /*LowerCase=*/true, /*Width=*/8);
    return Error::success();
  }
  Expected<RemoteRoot> parsed =
      parseRemoteRoot(answer.body, IndexReader::Writer);
  if (!parsed)
    return failed(toString(parsed.takeError()) + "; nothing was changed");
  root = std::move(*parsed);
  rootText = std::move(answer.body);
  rootEtag = std::move(answer.etag);
  return Error::success();
}

/// Whether nobody has replaced the root since it was read, as far as it is
/// known.
Expected<bool> Pusher::isRootAsItWas() {
  std::chrono::duration<double> age = Clock::now() - readAt;
  if (age.count() < kFreshSeconds)
    return true;
  RemoteAnswer answer =
      store.get({{remoteRootPath(), "", kIndexLimit}}).front();
  if (!answer.problem.empty())
    return failed(answer.problem);
  readAt = Clock::now();
  return answer.status == 404 ? rootText.empty() : answer.body == rootText;
}

/// Reads the shards that the parcels belong in; all where they will be others.
Error Pusher::loadShards(StringRef name, RemoteTarget &target,
                         ArrayRef<Parcel *> parcels, Shards &shards) {
  if (target.digits == 0) {
    shards[""] = target.winners;
    return Error::success();
  }
  StringSet<> wanted;
  for (const Parcel *parcel : parcels)
    wanted.insert(
        StringRef(parcel->winner.header.key).take_front(target.digits));
  bool isAll = shardDigits(target.count + parcels.size()) != target.digits;
  std::vector<std::string> digits;
  std::vector<RemoteGet> requests;
  for (const auto &[prefix, digest] : target.shards)
    if (isAll || wanted.contains(prefix)) {
      digits.push_back(prefix);
      requests.push_back({remoteObjectPath(digest), "", kIndexLimit});
    }
  std::vector<RemoteAnswer> answers = store.get(requests);
  for (auto [prefix, answer] : zip_equal(digits, answers)) {
    if (!answer.problem.empty())
      return failed(answer.problem);
    if (answer.status != 200 || sha256(answer.body) != target.shards[prefix])
      return failed("has lost or damaged a part of its index (" +
                    target.shards[prefix] + "); nothing was changed");
    Expected<std::vector<RemoteWinner>> winners =
        parseRemoteShard(answer.body, name, prefix, IndexReader::Writer);
    if (!winners)
      return failed(toString(winners.takeError()));
    shards[prefix] = std::move(*winners);
  }
  return Error::success();
}

/// Whether the parcel goes in among `rivals`, the winners near it; then it is
/// there, and who yields is not.
bool Pusher::decide(Parcel &parcel, std::vector<RemoteWinner> &rivals) {
  const WinnerHeader &fresh = parcel.winner.header;
  SyncOutcome::Kind kind = SyncOutcome::Stored;
  std::vector<std::string> yielding;
  for (const RemoteWinner &rival : rivals) {
    const WinnerHeader &stored = rival.header;
    if (stored.key != fresh.key || stored.precision != fresh.precision ||
        !stored.getMachine().isComparable(fresh.getMachine()))
      continue;
    StoredWinner what =
        decideBetween({stored.medianNs, stored.bitwiseDeterministic},
                      {fresh.medianNs, fresh.bitwiseDeterministic},
                      /*isSameProgram=*/false, WriteRule::KeepFaster);
    if (rival.digest == parcel.winner.digest || what == StoredWinner::Stays)
      return false;
    if (what == StoredWinner::Yields)
      yielding.push_back(rival.digest);
  }
  erase_if(rivals, [&](const RemoteWinner &rival) {
    return rival.header.key == fresh.key &&
           is_contained(yielding, rival.digest);
  });
  if (!yielding.empty())
    kind = SyncOutcome::Replaced;
  rivals.push_back(parcel.winner);
  // Later attempts find what this one brought.
  if (outcomes[parcel.index].kind == SyncOutcome::Kept)
    outcomes[parcel.index].kind = kind;
  return true;
}

/// Whether the target has changed; then `puts` has what it needs.
Expected<bool> Pusher::changeTarget(StringRef name, RemoteTarget &target,
                                    ArrayRef<Parcel *> parcels) {
  Shards shards;
  if (Error error = loadShards(name, target, parcels, shards))
    return std::move(error);
  StringSet<> changed;
  bool isChanged = false;
  for (Parcel *parcel : parcels) {
    const WinnerHeader &head = parcel->winner.header;
    std::string prefix = head.key.substr(0, target.digits);
    size_t before = shards[prefix].size();
    if (!decide(*parcel, shards[prefix]))
      continue;
    isChanged = true;
    changed.insert(prefix);
    target.count += shards[prefix].size() - before;
    target.reductions = std::max(target.reductions, head.reductions);
    puts.push_back({remoteObjectPath(parcel->winner.digest), parcel->object});
  }
  if (!isChanged)
    return false;
  unsigned digits = shardDigits(target.count);
  // Never fewer: shards that were not read would have to be.
  if (digits > target.digits) {
    Shards finer;
    for (auto &[prefix, winners] : shards)
      for (RemoteWinner &winner : winners)
        finer[winner.header.key.substr(0, digits)].push_back(winner);
    shards = std::move(finer);
    target.digits = digits;
    target.shards.clear();
    target.winners.clear();
    for (const auto &[prefix, winners] : shards)
      changed.insert(prefix);
  }
  if (target.digits == 0) {
    target.winners = std::move(shards[""]);
    return true;
  }
  for (const auto &[prefix, winners] : shards) {
    if (!changed.contains(prefix))
      continue;
    std::string text = printRemoteShard(name, winners);
    target.shards[prefix] = sha256(text);
    puts.push_back({remoteObjectPath(sha256(text)), std::move(text)});
  }
  return true;
}

Error Pusher::send(std::vector<RemotePut> puts) {
  erase_if(puts, [&](const RemotePut &put) { return sent.contains(put.path); });
  std::vector<RemoteAnswer> answers = store.put(puts);
  for (auto [put, answer] : zip_equal(puts, answers)) {
    if (!answer.problem.empty())
      return failed(answer.problem);
    sent.insert(put.path);
  }
  return Error::success();
}

Expected<std::vector<SyncOutcome>> Pusher::push(ArrayRef<std::string> folders) {
  if (Error error = pack(folders))
    return std::move(error);
  std::map<std::string, std::vector<Parcel *>> byTarget;
  for (Parcel &parcel : parcels)
    byTarget[parcel.winner.header.target].push_back(&parcel);
  if (parcels.empty())
    return outcomes;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0)
      pauseForOthers();
    if (Error error = readRoot())
      return std::move(error);
    bool isChanged = false;
    puts.clear();
    for (auto &[name, mine] : byTarget) {
      Expected<bool> changed = changeTarget(name, root.targets[name], mine);
      if (!changed)
        return changed.takeError();
      isChanged |= *changed;
    }
    // So it is after a push, too, unless somebody came in between.
    if (!isChanged) {
      cache.writeRoot(rootEtag, rootText);
      return outcomes;
    }
    if (Error error = send(std::move(puts)))
      return std::move(error);
    Expected<bool> isSame = isRootAsItWas();
    if (!isSame)
      return isSame.takeError();
    if (!*isSame)
      continue;
    ++root.generation;
    RemotePut put{remoteRootPath(), printRemoteRoot(root), rootEtag,
                  /*onlyNew=*/rootText.empty()};
    RemoteAnswer answer = store.put({put}).front();
    if (!answer.problem.empty())
      return failed(answer.problem);
  }
  return failed("others changed its index each time; push again");
}

Expected<std::vector<SyncOutcome>>
fastk::pushWinners(StringRef text, ArrayRef<std::string> folders) {
  if (std::string why = explainNoHttp(); !why.empty())
    return createStringError(why);
  Expected<RemotePlace> place = parseRemotePlace(text);
  if (!place)
    return place.takeError();
  return Pusher(std::move(*place)).push(folders);
}
