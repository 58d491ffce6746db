//===- KeptText.cpp - What is computed once for many sums -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace fastk;
using families::KeptText;

/// They take registers, or are passed from lane to lane.
static constexpr size_t kMostKept = 6;

namespace {
struct Line {
  StringRef whole, type, name;
  SmallVector<StringRef> uses;
  bool loads = false;
  /// It needs nothing that changes from sum to sum.
  bool isFixed = true;
};
} // namespace

/// The identifiers of an expression.
static SmallVector<StringRef> namesIn(StringRef text) {
  SmallVector<StringRef> names;
  auto isPart = [](char c) { return isAlnum(c) || c == '_'; };
  while (!text.empty()) {
    StringRef word = text.take_while(isPart);
    if (!word.empty() && !isDigit(word.front()))
      names.push_back(word);
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return names;
}

/// Nothing: it declares no constant.
static std::optional<Line> readLine(StringRef text) {
  Line line;
  line.whole = text;
  text = text.trim();
  if (!text.consume_front("const ") || !text.consume_back(";"))
    return std::nullopt;
  auto [left, right] = text.split(" = ");
  std::tie(line.type, line.name) = left.split(' ');
  SmallVector<StringRef> names = namesIn(line.name);
  if (names.size() != 1 || names.front() != line.name || right.empty() ||
      right.contains(';'))
    return std::nullopt;
  line.uses = namesIn(right);
  line.loads = right.contains('[');
  return line;
}

KeptText families::keepLines(StringRef text, ArrayRef<StringRef> fixed,
                             ArrayRef<StringRef> others) {
  KeptText kept;
  kept.finish = text.str();
  SmallVector<StringRef> rows;
  text.split(rows, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  StringSet<> changing, ofFixed, ofLast, used, defined;
  for (StringRef other : others)
    changing.insert(other);
  for (StringRef each : fixed)
    ofFixed.insert(each);
  ofLast.insert(fixed.back());
  std::vector<Line> lines;
  for (StringRef row : rows) {
    std::optional<Line> line = readLine(row);
    if (!line) {
      kept.loadsEach = text.contains('[');
      return kept;
    }
    auto usesOne = [&](const StringSet<> &names) {
      return any_of(line->uses,
                    [&](StringRef name) { return names.contains(name); });
    };
    line->isFixed = !usesOne(changing);
    if (usesOne(ofLast))
      ofLast.insert(line->name);
    if (usesOne(ofFixed)) {
      ofFixed.insert(line->name);
      kept.loadsEach |= line->loads && !line->isFixed;
    }
    if (!line->isFixed) {
      changing.insert(line->name);
      for (StringRef name : line->uses)
        used.insert(name);
    }
    defined.insert(line->name);
    lines.push_back(std::move(*line));
  }
  // A number of the program's own is no reason to keep anything.
  auto isKept = [&](const Line &line) {
    return line.isFixed && line.type == "float" && used.contains(line.name) &&
           any_of(line.uses, [&](StringRef name) {
             return is_contained(fixed, name) || defined.contains(name);
           });
  };
  std::string keep, finish;
  for (const Line &line : lines) {
    if (line.isFixed)
      keep += line.whole.str() + "\n";
    if (isKept(line)) {
      finish += ("  const float " + line.name + " = kept.v[" +
                 Twine(kept.names.size()) + "];\n")
                    .str();
      kept.names.push_back(line.name.str());
      kept.isOfLast |= ofLast.contains(line.name);
    } else {
      finish += line.whole.str() + "\n";
    }
  }
  if (kept.names.size() > kMostKept)
    kept.names.clear();
  if (kept.names.empty())
    return kept;
  kept.keep = std::move(keep);
  kept.finish = std::move(finish);
  return kept;
}
