//===- FindUnfenced.cpp - Synchronisation that is certainly missing -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses are not followed, so only those programs are accused in which there
// is no other way to read the text: an honest one is never among them.
//
//===----------------------------------------------------------------------===//

#include "PTXFlow.h"
#include "PTXValues.h"
#include "fastk/Cuda/DelayPTX.h"
#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace fastk::cuda;

static bool says(const PTXStatement &each, std::string_view text) {
  return each.opcode().find(text) != std::string_view::npos;
}

/// An ordinary store to the block's own shared memory.
static bool writesShared(const PTXStatement &each) {
  if (each.isA("stmatrix"))
    return true;
  return (each.isA("st") || each.isA("atom") || each.isA("red")) &&
         each.has("shared") && !says(each, "::cluster") && !each.has("async");
}

static bool isBulk(const PTXStatement &each) {
  return each.isA("cp") && each.has("bulk");
}

/// A bulk copy out of shared memory.
static bool isBulkStore(const PTXStatement &each) {
  return isBulk(each) && (says(each, ".global.shared::cta") ||
                          says(each, ".shared::cluster.shared::cta"));
}

/// A copy into shared memory that is no ordinary store.
static bool isAsyncLoad(const PTXStatement &each) {
  if (isBulk(each))
    return says(each, ".shared::cluster.global") ||
           says(each, ".shared::cta.global");
  return each.isA("cp") && each.has("shared");
}

/// An ordinary load that may be from shared memory.
static bool readsShared(const PTXStatement &each) {
  if (each.isA("ldmatrix"))
    return true;
  bool isElsewhere = each.has("global") || each.has("const") ||
                     each.has("param") || each.has("local");
  return (each.isA("ld") || each.isA("ldu") || each.isA("atom") ||
          each.isA("wmma.load")) &&
         !isElsewhere;
}

/// Orders ordinary accesses to shared memory and those of the async proxy.
static bool isProxyFence(const PTXStatement &each) {
  return each.isA("fence") && each.has("proxy") && each.has("async") &&
         !each.has("global");
}

static bool isProduct(const PTXStatement &each) {
  return each.isA("wgmma.mma_async");
}

static void findUnfencedWgmma(const PTXFunction &function,
                              std::vector<std::string> &findings) {
  if (!function.isEntry)
    return; // Whoever calls it may have said wgmma.fence.
  constexpr unsigned unfenced = 1;
  std::vector<unsigned> facts = factsBefore(
      function, unfenced, [](const PTXStatement &each, unsigned before) {
        // A device function may say it, too.
        return each.isA("wgmma.fence") || each.isA("call") ? before & ~unfenced
                                                           : before;
      });
  for (size_t i = 0; i < function.statements.size(); ++i)
    if (isProduct(function.statements[i]) && (facts[i] & unfenced)) {
      findings.push_back(
          "'" + std::string(function.name) +
          "' can reach wgmma.mma_async without a wgmma.fence before it, so "
          "that nothing orders its registers; put wgmmaFence() before the "
          "first product of each group");
      return;
    }
}

static bool hasCalls(const PTXFunction &function) {
  for (const PTXStatement &each : function.statements)
    if (each.isA("call"))
      return true;
  return false;
}

/// How many of the newest groups a wait leaves to themselves; nothing for what
/// is no wait for bulk copies.
static std::optional<size_t> groupsLeftBy(const PTXStatement &each) {
  if (!each.isA("cp.async.bulk.wait_group") || each.tokens.size() < 2)
    return std::nullopt;
  return std::strtoull(std::string(each.tokens[1]).c_str(), nullptr, 0);
}

namespace {
/// What may become of a bulk store that a thread has made for the last time.
class LastStore {
public:
  LastStore(const PTXFunction &function, size_t store)
      : function(function), values(function), store(store),
        conditions(conditionsAt(function, values, store)),
        next(function.statements.size()) {
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = nextUnder(function, values, conditions, i);
  }

  /// Whether it is awaited on some way to the thread's end, or there is none.
  bool mayBeAwaited() const;

private:
  bool mayExecute(const PTXStatement &each) const {
    return isExecuted(each, values, conditions) != Executed::Never;
  }
  std::vector<char> leadsToEnd() const;

  const PTXFunction &function;
  const PTXValues values;
  const size_t store;
  /// What holds for the thread since it came to the store.
  const PTXConditions conditions;
  /// By statement: those that it may come to next.
  std::vector<std::vector<size_t>> next;
};
} // namespace

/// From which statements the thread may end without storing once more.
std::vector<char> LastStore::leadsToEnd() const {
  const std::vector<PTXStatement> &statements = function.statements;
  bool isSure =
      isExecuted(statements[store], values, conditions) == Executed::Always;
  std::vector<std::vector<size_t>> previous(statements.size());
  std::vector<char> leads(statements.size(), 0);
  std::vector<size_t> work;
  auto add = [&](size_t at) {
    if (!leads[at] && !(isSure && at == store)) {
      leads[at] = 1;
      work.push_back(at);
    }
  };
  for (size_t i = 0; i < statements.size(); ++i)
    for (size_t each : next[i])
      previous[each].push_back(i);
  for (size_t i = 0; i < statements.size(); ++i) {
    const PTXStatement &each = statements[i];
    bool isEnd = (each.isA("ret") || each.isA("exit")) && mayExecute(each);
    if (isEnd || (next[i].empty() && !each.isA("trap")))
      add(i);
  }
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    for (size_t before : previous[at])
      add(before);
  }
  return leads;
}

bool LastStore::mayBeAwaited() const {
  // More groups than anyone leaves.
  constexpr size_t mostGroups = 16;
  struct State {
    size_t at, groups;
  };
  const std::vector<PTXStatement> &statements = function.statements;
  std::vector<char> leads = leadsToEnd();
  std::vector<char> isKnown(statements.size() * (mostGroups + 1), 0);
  std::vector<State> work;
  bool mayEnd = next[store].empty();
  auto follow = [&](size_t at, size_t groups) {
    for (size_t each : next[at])
      if (leads[each] && !isKnown[each * (mostGroups + 1) + groups]) {
        isKnown[each * (mostGroups + 1) + groups] = 1;
        work.push_back({each, groups});
        mayEnd = true;
      }
  };
  follow(store, 0);
  while (!work.empty()) {
    State state = work.back();
    work.pop_back();
    const PTXStatement &each = statements[state.at];
    if (each.isA("cp.async.bulk.commit_group") && mayExecute(each))
      state.groups = std::min(state.groups + 1, mostGroups);
    std::optional<size_t> left = groupsLeftBy(each);
    if (left && mayExecute(each) &&
        state.groups > std::min(*left, mostGroups - 1))
      return true;
    follow(state.at, state.groups);
  }
  return !mayEnd;
}

/// A thread's bulk stores are its own to await, at least until they have read
/// the block's shared memory, which is another block's when it has ended.
static void findUnawaited(const PTXFunction &function,
                          std::vector<std::string> &findings) {
  if (!function.isEntry || hasCalls(function))
    return; // Whoever calls it, or is called, may.
  for (size_t i = 0; i < function.statements.size(); ++i)
    if (isBulk(function.statements[i]) &&
        says(function.statements[i], ".global.shared::cta") &&
        !LastStore(function, i).mayBeAwaited()) {
      findings.push_back(
          "'" + std::string(function.name) +
          "' ends while its last bulk store may still read shared memory, "
          "since nobody awaits it; put bulkCommit() behind it and "
          "bulkWaitRead<0>() before the end, in the same thread");
      return;
    }
}

static void findUnfencedShared(const PTXFunction &function,
                               bool isOtherwiseExplained,
                               std::vector<std::string> &findings) {
  // Written and not fenced since; fenced after it was written.
  constexpr unsigned written = 1, fenced = 2;
  if (hasCalls(function))
    return;
  std::vector<unsigned> facts = factsBefore(
      function, 0, [](const PTXStatement &each, unsigned before) -> unsigned {
        if (writesShared(each))
          return before | written;
        if (isProxyFence(each))
          return before & written ? fenced : before;
        return before;
      });
  for (size_t i = 0; i < function.statements.size(); ++i) {
    const PTXStatement &each = function.statements[i];
    if (!(facts[i] & written) || (facts[i] & fenced))
      continue;
    if (!isBulkStore(each) && (!isProduct(each) || isOtherwiseExplained))
      continue;
    findings.push_back(
        "'" + std::string(function.name) +
        "' writes shared memory by ordinary stores, and " +
        std::string(isProduct(each) ? "wgmma" : "a bulk copy") +
        " reads it without a fence.proxy.async between; put "
        "fenceAsyncShared() after the stores, before the barrier");
    return;
  }
}

std::vector<std::string> fastk::cuda::findUnfenced(std::string_view ptx) {
  std::vector<PTXFunction> functions;
  std::vector<std::string> findings;
  std::string error;
  if (!readPTXFunctions(ptx, functions, error))
    return findings;
  // What nobody loads was stored for wgmma; else it may have been for a load,
  // and what wgmma reads for an asynchronous copy to bring.
  bool hasAsyncLoads = false, hasLoads = false;
  for (const PTXFunction &function : functions)
    for (const PTXStatement &each : function.statements) {
      hasAsyncLoads |= isAsyncLoad(each);
      hasLoads |= readsShared(each);
    }
  bool isOtherwiseExplained = hasAsyncLoads && hasLoads;
  for (const PTXFunction &function : functions) {
    findUnfencedWgmma(function, findings);
    findUnfencedShared(function, isOtherwiseExplained, findings);
    findUnawaited(function, findings);
  }
  return findings;
}

/// The kernels \p launched and the functions that they name, directly or not:
/// what else is in a program says nothing about what it does.
static std::vector<PTXFunction>
launchedOnly(std::vector<PTXFunction> functions,
             const std::vector<std::string_view> &launched) {
  std::vector<bool> isUsed(functions.size());
  std::vector<size_t> open;
  auto use = [&](std::string_view name, bool isEntry) {
    for (size_t i = 0; i < functions.size(); ++i)
      if (!isUsed[i] && functions[i].isEntry == isEntry &&
          functions[i].name == name) {
        isUsed[i] = true;
        open.push_back(i);
      }
  };
  for (std::string_view name : launched)
    use(name, /*isEntry=*/true);
  while (!open.empty()) {
    size_t i = open.back();
    open.pop_back();
    for (const PTXStatement &each : functions[i].statements)
      for (PTXToken token : each.tokens)
        use(token, /*isEntry=*/false);
  }
  std::vector<PTXFunction> used;
  for (size_t i = 0; i < functions.size(); ++i)
    if (isUsed[i])
      used.push_back(std::move(functions[i]));
  return used;
}

std::string
fastk::cuda::beyondRacecheck(std::string_view ptx,
                             const std::vector<std::string_view> &launched) {
  std::vector<PTXFunction> functions;
  std::string error;
  if (!readPTXFunctions(ptx, functions, error))
    return "";
  functions = launchedOnly(std::move(functions), launched);
  bool hasMbarriers = false, hasRemote = false, hasBulk = false,
       hasArrivals = false;
  for (const PTXFunction &function : functions)
    for (const PTXStatement &each : function.statements) {
      hasMbarriers |= each.isA("mbarrier");
      hasBulk |= isBulk(each) && !each.has("prefetch");
      // Of some warps, for which others wait.
      hasArrivals |= (each.isA("bar") || each.isA("barrier")) &&
                     !each.isA("barrier.cluster") && each.has("arrive");
      hasRemote |= each.isA("mapa") || each.isA("barrier.cluster") ||
                   (says(each, "shared::cluster") && !isBulk(each));
    }
  std::string text;
  for (auto [has, name] : {std::pair(hasMbarriers, "mbarriers"),
                           {hasBulk, "bulk copies"},
                           {hasArrivals, "arrivals at named barriers"},
                           {hasRemote, "other blocks' shared memory"}})
    if (has)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool fastk::cuda::hasAtomics(std::string_view ptx,
                             const std::vector<std::string_view> &launched) {
  std::vector<PTXFunction> functions;
  std::string error;
  if (!readPTXFunctions(ptx, functions, error))
    return true;
  functions = launchedOnly(std::move(functions), launched);
  for (const PTXFunction &function : functions)
    for (const PTXStatement &each : function.statements)
      if (each.isA("atom") || each.isA("red") || each.isA("cp.reduce"))
        return true;
  return false;
}
