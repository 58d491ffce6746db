//===- SearchCourse.cpp - Where a search is, and whether it is over -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchCourse.h"

using namespace llvm;
using namespace fastk;

void SearchCourse::beginRound(int next) {
  number = next;
  name = std::to_string(next);
}

void SearchCourse::beginPhase(SearchPhase next, StringRef label) {
  current = next;
  phaseOver = false;
  name = label.str();
}

void SearchCourse::stop(SearchEnd end, std::string detail) {
  phaseOver = true;
  if (end == SearchEnd::Interrupted || end == SearchEnd::Unfit ||
      end == SearchEnd::Unjudged || end == SearchEnd::Disagreement ||
      end == SearchEnd::Pending || end == SearchEnd::Unanswered)
    searchOver = true;
  if (current == SearchPhase::Rounds || searchOver) {
    result.end = end;
    result.detail = std::move(detail);
  }
}
