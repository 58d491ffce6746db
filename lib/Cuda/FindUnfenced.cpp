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
#include "fastk/Cuda/DelayPTX.h"

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

static void findUnfencedShared(const PTXFunction &function,
                               bool isOtherwiseExplained,
                               std::vector<std::string> &findings) {
  // Written and not fenced since; fenced after it was written.
  constexpr unsigned written = 1, fenced = 2;
  bool hasCalls = false;
  for (const PTXStatement &each : function.statements)
    hasCalls |= each.isA("call");
  if (hasCalls)
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
  }
  return findings;
}

std::string fastk::cuda::beyondRacecheck(std::string_view ptx) {
  std::vector<PTXFunction> functions;
  std::string error;
  if (!readPTXFunctions(ptx, functions, error))
    return "";
  bool hasMbarriers = false, hasRemote = false, hasBulk = false;
  for (const PTXFunction &function : functions)
    for (const PTXStatement &each : function.statements) {
      hasMbarriers |= each.isA("mbarrier");
      hasBulk |= isBulk(each) && !each.has("prefetch");
      hasRemote |= each.isA("mapa") || each.isA("barrier.cluster") ||
                   (says(each, "shared::cluster") && !isBulk(each));
    }
  std::string text;
  for (auto [has, name] : {std::pair(hasMbarriers, "mbarriers"),
                           {hasBulk, "bulk copies"},
                           {hasRemote, "other blocks' shared memory"}})
    if (has)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool fastk::cuda::hasAtomics(std::string_view ptx) {
  std::vector<PTXFunction> functions;
  std::string error;
  if (!readPTXFunctions(ptx, functions, error))
    return true;
  for (const PTXFunction &function : functions)
    for (const PTXStatement &each : function.statements)
      if (each.isA("atom") || each.isA("red") || each.isA("cp.reduce"))
        return true;
  return false;
}
