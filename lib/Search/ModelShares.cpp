//===- ModelShares.cpp - What a model's searches can gain -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/ModelShares.h"
#include "fastk/Search/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;

std::optional<double> ModelPart::headroom() const {
  if (seconds <= 0)
    return std::nullopt;
  return calls * std::max(0.0, seconds - floorSeconds);
}

ModelShares fastk::shareByGain(ArrayRef<ModelPart> parts) {
  double total = 0, gains = 0;
  size_t wanted = 0, known = 0;
  for (const ModelPart &part : parts) {
    total += part.timeBefore();
    wanted += part.isSearched;
    if (std::optional<double> gain = part.headroom(); gain && part.isSearched) {
      gains += *gain;
      ++known;
    }
  }
  // Where nothing is known, or nothing can be gained, all are equal.
  double average = known > 0 && gains > 0 ? gains / known : 1;
  ModelShares shares;
  std::vector<std::pair<double, size_t>> searched;
  for (auto [index, part] : enumerate(parts)) {
    if (!part.isSearched)
      continue;
    std::optional<double> gain = part.headroom();
    if (gain && wanted > 1 && *gain < kLeastGain * total)
      shares.tooSmall.push_back(index);
    else
      searched.push_back({gain && gains > 0 ? *gain : average, index});
  }
  sort(searched, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (auto [weight, index] : searched) {
    shares.order.push_back(index);
    shares.weights.push_back(weight);
  }
  return shares;
}

void fastk::printModelParts(ArrayRef<ModelPart> parts, bool isAfter,
                            raw_ostream &os) {
  auto timeOf = [&](const ModelPart &part) {
    return isAfter ? part.timeAfter() : part.timeBefore();
  };
  double before = 0, total = 0;
  int64_t calls = 0;
  std::vector<const ModelPart *> order;
  for (const ModelPart &part : parts) {
    before += part.timeBefore();
    total += timeOf(part);
    calls += part.calls;
    order.push_back(&part);
  }
  if (total <= 0)
    return;
  // Pointers into one array: their order is that of the model.
  sort(order, [&](const ModelPart *a, const ModelPart *b) {
    double first = timeOf(*a), second = timeOf(*b);
    return first != second ? first > second : a < b;
  });
  os << formatv("where the time {0}: {1} in {2} calls of {3} workloads",
                isAfter ? "goes now" : "goes", formatSeconds(total), calls,
                parts.size());
  if (isAfter)
    os << formatv(", {0} before: {1:f2}x as fast", formatSeconds(before),
                  before / total);
  os << formatv("\n{0,8}  {1,9}  {2,5}  {3,8}  {4}\n", "share", "time", "calls",
                "of floor", "workload");
  for (const ModelPart *part : order) {
    double time = timeOf(*part);
    std::string share = "?", seconds = "?", floor = "?";
    if (time > 0) {
      share = formatv("{0:f1} %", 100 * time / total);
      seconds = formatSeconds(time);
      if (part->floorSeconds > 0)
        floor =
            formatv("{0:f0} %", 100 * part->calls * part->floorSeconds / time);
    }
    os << formatv("{0,8}  {1,9}  {2,5}  {3,8}  {4}\n", share, seconds,
                  part->calls, floor, part->name);
  }
}
