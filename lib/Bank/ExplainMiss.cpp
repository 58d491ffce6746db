//===- ExplainMiss.cpp - Why no winner matched ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;

/// More lines would hide the nearest one.
static constexpr size_t kMaxEntries = 5;

std::string Bank::explainMiss(StringRef key, const WinnerFilter &filter,
                              StringRef name, StringRef shapes,
                              MLIRContext *context) const {
  if (remote)
    return "bank " + remote->shown() + ": winners of " +
           std::to_string(size()) + " are found by their keys alone\n";
  struct Line {
    int distance;
    std::string text;
  };
  std::vector<Line> lines;
  for (const BankEntry &entry : listNamed(name, key)) {
    if (!entry.header) {
      // A stale winner may be the one that is missed.
      lines.push_back({2, entry.folder + ": stale: " + entry.problem});
      continue;
    }
    const WinnerHeader &head = *entry.header;
    SmallVector<std::string> differences;
    int distance = 0;
    if (head.key != key) {
      if (head.name != name)
        continue;
      if (head.shapes != shapes) {
        differences.push_back("its shapes are " + head.shapes + ", wanted " +
                              shapes.str());
        distance += 4;
      } else {
        differences.push_back(
            "its key is " + StringRef(head.key).take_front(16).str() +
            "..., wanted " + key.take_front(16).str() +
            "...: same name and shapes, but the body differs");
        distance += 3;
      }
    }
    if (head.target != filter.target) {
      differences.push_back("its target is " + head.target + ", wanted " +
                            filter.target);
      distance += 2;
    }
    if (head.precision > filter.loosest) {
      differences.push_back(
          "its precision is " + stringifyPrecision(head.precision).str() +
          ", accepted is " + stringifyPrecision(filter.loosest).str());
      distance += 1;
    }
    if (std::string why = filter.refuseMachine(head); !why.empty()) {
      differences.push_back(why);
      distance += 1;
    }
    if (std::string why = filter.refuseBits(head); !why.empty()) {
      differences.push_back(why);
      distance += 1;
    }
    if (head.key == key) {
      auto loaded = load(entry.folder, context);
      if (!loaded)
        differences.push_back("stale: " + llvm::toString(loaded.takeError()));
    }
    lines.push_back(
        {distance, entry.folder + ": " +
                       (differences.empty() ? "matches"
                                            : llvm::join(differences, "; "))});
  }
  llvm::sort(lines, [](const Line &a, const Line &b) {
    return std::tie(a.distance, a.text) < std::tie(b.distance, b.text);
  });

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "bank " << directory << ": ";
  size_t winners = size();
  if (winners == 0) {
    os << "empty\n";
    return text;
  }
  std::string count =
      std::to_string(winners) + (winners == 1 ? " winner" : " winners");
  if (lines.empty()) {
    os << count << ", none named '" << name << "'\n";
    return text;
  }
  os << "nearest of " << count << ":\n";
  for (const Line &line : llvm::ArrayRef(lines).take_front(kMaxEntries))
    os << "  " << line.text << "\n";
  if (lines.size() > kMaxEntries)
    os << "  and " << lines.size() - kMaxEntries << " more\n";
  return text;
}
