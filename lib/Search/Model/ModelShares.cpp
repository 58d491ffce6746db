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

namespace {
/// Guesses what searches can gain by what is known.
class GainGuess {
public:
  explicit GainGuess(ArrayRef<ModelPart> parts);

  /// What the search of `part` can gain at most, in seconds of the model's
  /// time. Positive, also where that is nothing: a part that is searched all
  /// the same has some share.
  double gainOf(const ModelPart &part) const {
    double gain = guess(part).value_or(average);
    return gain > 0 ? gain : average;
  }

private:
  /// Nothing where neither time nor floor is known.
  std::optional<double> guess(const ModelPart &part) const {
    if (part.seconds <= 0 && part.floorSeconds > 0)
      return gainPerFloor * part.calls * part.floorSeconds;
    return part.headroom();
  }

  /// Seconds above the floor for each second of it, by the parts of which both
  /// are known.
  double gainPerFloor = 1;
  /// Of what can be guessed.
  double average = 1;
};
} // namespace

GainGuess::GainGuess(ArrayRef<ModelPart> parts) {
  double gains = 0, floors = 0;
  for (const ModelPart &part : parts)
    if (part.isSearched && part.seconds > 0 && part.floorSeconds > 0) {
      gains += *part.headroom();
      floors += part.calls * part.floorSeconds;
    }
  if (gains > 0)
    gainPerFloor = gains / floors;

  double sum = 0;
  size_t guessed = 0;
  for (const ModelPart &part : parts)
    if (std::optional<double> gain = guess(part); gain && part.isSearched) {
      sum += *gain;
      ++guessed;
    }
  if (sum > 0)
    average = sum / guessed;
}

ModelShares fastk::shareByGain(ArrayRef<ModelPart> parts) {
  double total = 0;
  size_t wanted = 0;
  for (const ModelPart &part : parts) {
    total += part.timeBefore();
    wanted += part.isSearched;
  }
  GainGuess guess(parts);
  ModelShares shares;
  std::vector<std::pair<double, size_t>> searched;
  for (auto [index, part] : enumerate(parts)) {
    if (!part.isSearched)
      continue;
    std::optional<double> gain = part.headroom();
    if (gain && wanted > 1 && *gain < kMinGain * total)
      shares.tooSmall.push_back(index);
    else
      searched.push_back({guess.gainOf(part), index});
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
