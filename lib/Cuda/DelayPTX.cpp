//===- DelayPTX.cpp - Delays at chosen places of a program ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/DelayPTX.h"
#include "PTXFlow.h"
#include <algorithm>
#include <cstddef>
#include <optional>

using namespace fastk::cuda;

const char *fastk::cuda::nameOf(DelayKind kind) {
  static const char *const names[delayKinds] = {
      "the begin of kernels",      "barriers",      "mbarriers",
      "asynchronous copies",       "fences",        "atomics and flags",
      "accesses to shared memory", "griddepcontrol"};
  return names[uint32_t(kind)];
}

int64_t DelayedPTX::total() const {
  int64_t sum = 0;
  for (int64_t each : places)
    sum += each;
  return sum;
}

/// What to put places around; nothing for instructions that order nothing.
static std::optional<DelayKind> kindOf(const PTXStatement &each) {
  if (each.isA("bar") || each.isA("barrier"))
    return DelayKind::Barrier;
  if (each.isA("mbarrier"))
    return DelayKind::Mbarrier;
  if (each.isA("cp"))
    return each.has("prefetch") ? std::nullopt : std::optional(DelayKind::Copy);
  if (each.isA("fence") || each.isA("membar"))
    return DelayKind::Fence;
  if (each.isA("griddepcontrol"))
    return DelayKind::Grid;
  bool isOrdered = each.has("volatile") || each.has("relaxed") ||
                   each.has("acquire") || each.has("release") ||
                   each.has("mmio");
  bool isAccess = each.isA("ld") || each.isA("st");
  if (each.isA("atom") || each.isA("red") || (isAccess && isOrdered) ||
      (each.isA("st") && each.has("async")))
    return DelayKind::Flag;
  if ((isAccess && each.has("shared")) || each.isA("ldmatrix") ||
      each.isA("stmatrix"))
    return DelayKind::Shared;
  return std::nullopt;
}

/// In straight code so many statements apart: a run of loads is one place.
static constexpr size_t sharedStride = 12;

namespace {

struct Insertion {
  size_t offset;
  std::string text;
};

class Inserter {
public:
  Inserter(std::string_view ptx, const std::vector<char> &leftOut,
           DelayedPTX &result)
      : leftOut(leftOut), result(result) {
    // A name that the program cannot mean.
    for (int i = 0; ptx.find(prefix) != ptx.npos; ++i)
      prefix = "fastk_delay" + std::to_string(i) + "_";
    result.variable = prefix;
  }

  void visit(const PTXFunction &function);

  /// Puts all in, the constant behind the header at \p begin.
  std::string apply(std::string_view ptx, size_t begin) {
    std::string text(ptx.substr(0, begin));
    text += "\n.visible .const .align 16 .b8 " + prefix + "[" +
            std::to_string(sizeof(Schedule)) + "];\n";
    size_t at = begin;
    for (const Insertion &each : insertions) {
      text += ptx.substr(at, each.offset - at);
      text += each.text;
      at = each.offset;
    }
    return text += ptx.substr(at);
  }

private:
  void add(size_t offset, DelayKind kind) {
    size_t number = size_t(result.possible++);
    if (kind == DelayKind::Shared)
      result.ordinary.push_back(number);
    if (number < leftOut.size() && leftOut[number])
      return;
    insertions.push_back({offset, place(uint32_t(number), uint32_t(kind))});
    ++result.places[uint32_t(kind)];
  }
  std::string place(uint32_t number, uint32_t kind) const;

  const std::vector<char> &leftOut;
  DelayedPTX &result;
  std::string prefix = "fastk_delay_";
  std::vector<Insertion> insertions;
};

} // namespace

void Inserter::visit(const PTXFunction &function) {
  std::vector<WgmmaState> before = wgmmaStates(function);
  auto mayStand = [](WgmmaState state) {
    return !state.isOpen && !state.isAhead;
  };
  auto after = [&](size_t i) {
    WgmmaState state = before[i];
    step(function.statements[i], state);
    state.isAhead = false;
    for (size_t next : function.statements[i].next)
      state.isAhead |= before[next].isAhead;
    return state;
  };
  if (function.isEntry && !function.statements.empty() && mayStand(before[0]))
    add(function.statements[0].begin, DelayKind::Entry);
  // Statements since the last place.
  size_t since = sharedStride;
  std::vector<char> isTarget = jumpTargets(function);
  for (size_t i = 0; i < function.statements.size(); ++i) {
    const PTXStatement &each = function.statements[i];
    std::optional<DelayKind> kind = kindOf(each);
    bool isShared = kind == DelayKind::Shared;
    if (isTarget[i])
      since = sharedStride;
    if (kind && since >= (isShared ? sharedStride : 1) && mayStand(before[i])) {
      add(each.begin, *kind);
      since = 0;
    }
    ++since;
    if (kind && !isShared && mayStand(after(i))) {
      add(each.end, *kind);
      since = 0;
    }
  }
}

/// The code of one place. Its registers live in it only, so that the assembler
/// has nothing to keep from place to place.
std::string Inserter::place(uint32_t number, uint32_t kind) const {
  std::string id = prefix + std::to_string(number);
  std::string a = "%" + id + "a", b = "%" + id + "b", c = "%" + id + "c",
              q = "%" + id + "q", end = "$" + id;
  std::string text = "\n{\n.reg .b32 " + a + ", " + b + ", " + c +
                     ";\n.reg .pred " + q + ";\n";
  auto line = [&](const std::string &each) { text += each + ";\n"; };
  auto load = [&](const std::string &into, size_t offset) {
    line("ld.const.u32 " + into + ", [" + prefix + "+" +
         std::to_string(offset) + "]");
  };
  // Stirs a; odd constants of no meaning.
  auto mix = [&](const char *factor, int shift) {
    line("shr.u32 " + b + ", " + a + ", " + std::to_string(shift));
    line("xor.b32 " + a + ", " + a + ", " + b);
    line("mul.lo.u32 " + a + ", " + a + ", " + factor);
  };
  // Nothing where the schedule has no delays or none of this kind.
  load(a, offsetof(Schedule, kinds));
  line("and.b32 " + a + ", " + a + ", " + std::to_string(1u << kind));
  load(b, offsetof(Schedule, threshold));
  line("min.u32 " + a + ", " + a + ", " + b);
  line("setp.eq.u32 " + q + ", " + a + ", 0");
  line("@" + q + " bra.uni " + end);
  // By registers that need no arithmetic: what several places compute alike,
  // the assembler keeps from one to the next, in registers that are short.
  line("mov.u32 " + a + ", %warpid");
  load(b, offsetof(Schedule, warps));
  line("and.b32 " + a + ", " + a + ", " + b);
  line("mul.lo.u32 " + a + ", " + a + ", 0x9E3779B1");
  line("mov.u32 " + b + ", %ctaid.x");
  load(c, offsetof(Schedule, blocks));
  line("and.b32 " + b + ", " + b + ", " + c);
  line("mad.lo.u32 " + a + ", " + b + ", 0x85EBCA77, " + a);
  load(b, offsetof(Schedule, places));
  line("and.b32 " + b + ", " + b + ", " + std::to_string(number + 1));
  line("mad.lo.u32 " + a + ", " + b + ", 0xC2B2AE3D, " + a);
  line("mov.u32 " + b + ", %clock");
  line("shr.u32 " + b + ", " + b + ", 6");
  load(c, offsetof(Schedule, visits));
  line("and.b32 " + b + ", " + b + ", " + c);
  line("mad.lo.u32 " + a + ", " + b + ", 0x2C1B3C6D, " + a);
  load(b, offsetof(Schedule, key));
  line("add.u32 " + a + ", " + a + ", " + b);
  mix("0x7FEB352D", 16);
  mix("0x846CA68B", 15);
  line("shr.u32 " + b + ", " + a + ", 16");
  load(c, offsetof(Schedule, threshold));
  line("setp.ge.u32 " + q + ", " + b + ", " + c);
  line("@" + q + " bra.uni " + end);
  mix("0x297A2D39", 15);
  line("shr.u32 " + a + ", " + a + ", 8");
  load(b, offsetof(Schedule, nanoseconds));
  line("and.b32 " + a + ", " + a + ", " + b);
  line("nanosleep.u32 " + a);
  return text + end + ":\n}\n";
}

DelayedPTX fastk::cuda::addDelays(std::string_view ptx,
                                  const std::vector<char> &leftOut) {
  DelayedPTX result;
  std::vector<PTXFunction> functions;
  std::vector<PTXToken> tokens;
  if (!tokenizePTX(ptx, tokens, result.error) ||
      !readPTXFunctions(ptx, functions, result.error))
    return result;
  auto size = std::find(tokens.begin(), tokens.end(), ".address_size");
  if (tokens.end() - size < 2) {
    result.error = "the PTX does not say .address_size";
    return result;
  }
  // A function that is called while a product's registers are taken must have
  // no places either.
  bool areFunctionsQuiet = false;
  for (const PTXFunction &function : functions) {
    std::vector<WgmmaState> before = wgmmaStates(function);
    for (size_t i = 0; i < function.statements.size(); ++i)
      areFunctionsQuiet |= function.statements[i].isA("call") &&
                           (before[i].isOpen || before[i].isAhead);
  }
  Inserter inserter(ptx, leftOut, result);
  for (const PTXFunction &function : functions)
    if (function.isEntry || !areFunctionsQuiet)
      inserter.visit(function);
  const PTXToken &number = size[1];
  result.ptx =
      inserter.apply(ptx, size_t(number.data() + number.size() - ptx.data()));
  return result;
}

namespace {
struct Range {
  size_t begin, end;
};

/// Deals the places of a program out to variants of it.
class Cover {
public:
  Cover(std::string_view ptx, const std::vector<size_t> &order,
        const std::function<bool(const DelayedPTX &)> &isGood, int questions)
      : ptx(ptx), order(order), isGood(isGood), questions(questions) {}

  /// Finds ranges that are good, each for itself; the largest first.
  void find(std::vector<Range> todo, int questionsLeft);
  /// Variants of as many of those as are good together.
  std::vector<DelayedPTX> combine(size_t most);

private:
  /// Places begin to end in the order.
  struct Piece {
    std::vector<Range> ranges;
    DelayedPTX text;
  };
  bool ask(Piece &piece);
  void combine(size_t begin, size_t end, std::vector<DelayedPTX> &variants);

  std::string_view ptx;
  const std::vector<size_t> &order;
  const std::function<bool(const DelayedPTX &)> &isGood;
  int questions;
  std::vector<Piece> pieces;
};
} // namespace

bool Cover::ask(Piece &piece) {
  if (questions-- <= 0)
    return false;
  std::vector<char> leftOut(order.size(), 1);
  for (const Range &range : piece.ranges)
    for (size_t i = range.begin; i < range.end; ++i)
      leftOut[order[i]] = 0;
  piece.text = addDelays(ptx, leftOut);
  return isGood(piece.text);
}

void Cover::find(std::vector<Range> todo, int questionsLeft) {
  for (size_t at = 0; at < todo.size() && questions > questionsLeft; ++at) {
    Range range = todo[at];
    Piece piece = {{range}, {}};
    if (range.begin == range.end)
      continue;
    if (ask(piece)) {
      pieces.push_back(std::move(piece));
    } else if (range.end - range.begin > 1) {
      size_t middle = (range.begin + range.end) / 2;
      todo.push_back({range.begin, middle});
      todo.push_back({middle, range.end});
    }
  }
}

/// What is good for itself may be too much with others: then halves are tried.
void Cover::combine(size_t begin, size_t end,
                    std::vector<DelayedPTX> &variants) {
  if (begin == end)
    return;
  if (end - begin == 1)
    return variants.push_back(std::move(pieces[begin].text));
  Piece all;
  for (size_t i = begin; i < end; ++i)
    all.ranges.push_back(pieces[i].ranges.front());
  if (ask(all))
    return variants.push_back(std::move(all.text));
  combine(begin, (begin + end) / 2, variants);
  combine((begin + end) / 2, end, variants);
}

std::vector<DelayedPTX> Cover::combine(size_t most) {
  std::vector<DelayedPTX> variants;
  // Neighbours are together too much rather than others.
  std::vector<Piece> dealt;
  for (size_t first : {0, 1})
    for (size_t i = first; i < pieces.size(); i += 2)
      dealt.push_back(std::move(pieces[i]));
  pieces = std::move(dealt);
  combine(0, pieces.size(), variants);
  std::sort(variants.begin(), variants.end(),
            [](const DelayedPTX &a, const DelayedPTX &b) {
              return a.total() > b.total();
            });
  variants.resize(std::min(variants.size(), most));
  return variants;
}

std::vector<DelayedPTX>
fastk::cuda::coverDelays(std::string_view ptx,
                         const std::function<bool(const DelayedPTX &)> &isGood,
                         int questions, size_t most) {
  DelayedPTX all = addDelays(ptx);
  if (!all.error.empty() || (questions-- > 0 && isGood(all)))
    return {all};
  std::vector<char> isOrdinary(size_t(all.possible), 0);
  for (size_t number : all.ordinary)
    isOrdinary[number] = 1;
  std::vector<size_t> order;
  for (char wanted : {0, 1})
    for (size_t i = 0; i < isOrdinary.size(); ++i)
      if (isOrdinary[i] == wanted)
        order.push_back(i);
  size_t important = order.size() - all.ordinary.size();
  Cover cover(ptx, order, isGood, questions);
  cover.find({{0, important}}, questions / 3);
  cover.find({{important, order.size()}}, questions / 5);
  return cover.combine(most);
}
