//===- ProgramState.cpp - What is known after lines of a program ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramState.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk::families;
using Kind = ProgramLine::Kind;

ReadLine::ReadLine(const ProgramLine &line, NameTable &table)
    : kind(line.kind) {
  std::string ignored;
  switch (kind) {
  case Kind::Define:
    expression = Expression::read(line.value, table, ignored);
    [[fallthrough]];
  case Kind::Undefine:
    place = table.placeOf(line.name);
    break;
  case Kind::If:
  case Kind::ElseIf:
    expression = Expression::read(line.condition, table, ignored,
                                  Expression::Kind::Condition);
    break;
  case Kind::Else:
  case Kind::EndIf:
    break;
  }
}

NameValue &ProgramState::at(unsigned place) {
  if (place >= known.size())
    known.resize(place + 1);
  return known[place];
}

std::optional<int64_t> ProgramState::numberOf(unsigned place) const {
  return place < known.size() && known[place].hasNumber
             ? std::optional(known[place].number)
             : std::nullopt;
}

void ProgramState::set(unsigned place, int64_t number) {
  NameValue &value = at(place);
  value.number = number;
  value.hasNumber = true;
}

void ProgramState::forget(unsigned place) { at(place).hasNumber = false; }

void ProgramState::enter(Branch &branch, const ReadLine &line) {
  std::optional<bool> isTaken;
  if (line.kind == Kind::Else)
    isTaken = true;
  else if (line.expression)
    if (auto value = line.expression->evaluate(known))
      isTaken = *value != 0;
  branch.mayBeTaken = !branch.isOver && isTaken.value_or(true);
  branch.isOver |= isTaken.value_or(false);
}

bool ProgramState::counts(const ReadLine &line) {
  switch (line.kind) {
  case Kind::If:
    enter(branches.emplace_back(), line);
    return false;
  case Kind::ElseIf:
  case Kind::Else:
    if (!branches.empty())
      enter(branches.back(), line);
    return false;
  case Kind::EndIf:
    if (!branches.empty())
      branches.pop_back();
    return false;
  case Kind::Define:
  case Kind::Undefine:
    break;
  }
  if (!all_of(branches, [](const Branch &each) { return each.mayBeTaken; }))
    return false;
  at(line.place).isDefined = line.kind == Kind::Define;
  return true;
}

std::optional<int64_t> ProgramState::define(const ReadLine &line) {
  if (line.kind == Kind::Undefine) {
    forget(line.place);
    return std::nullopt;
  }
  std::optional<int64_t> value =
      line.expression ? line.expression->evaluate(known) : std::nullopt;
  if (value)
    set(line.place, *value);
  return value;
}
