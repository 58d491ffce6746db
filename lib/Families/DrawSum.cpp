//===- DrawSum.cpp - Random surroundings of sums of products --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DrawSum.h"

using namespace llvm;
using namespace fastk;
using families::DrawSum;
using families::SumText;

std::string DrawSum::drawPrologue(SumText::Prologue &prologue,
                                  const std::string &type, uint64_t rarity,
                                  function_ref<std::string()> drawScale) {
  if (!oneIn(rarity))
    return "";
  switch (below(3)) {
  case 0:
    prologue.lines = "    %none = arith.constant 0.0 : " + type +
                     "\n    %isMore = arith.cmpf ugt, %a0, %none : " + type +
                     "\n    %a1 = arith.select %isMore, %a0, %none : " + type;
    return ", relu";
  case 1:
    prologue.scale = drawScale();
    prologue.lines = "    %a1 = arith.mulf %a0, %s0 : " + type;
    return ", scaled by " + prologue.scale;
  default:
    bool isWide = type == "f32";
    prologue.stored = isWide ? "f16" : "f32";
    prologue.lines = isWide ? "    %a1 = arith.extf %a0 : f16 to f32"
                            : "    %a1 = arith.truncf %a0 : f32 to " + type;
    return ", cast from " + prologue.stored;
  }
}

void DrawSum::beginTail(SumText &drawn) {
  text = &drawn;
  text->tail.clear();
  last = "%x";
}

void DrawSum::endTail() { text->value = last; }

void DrawSum::addStep(const Twine &operation) {
  std::string made = "%t" + std::to_string(steps++);
  text->tail += ("    " + made + " = " + operation + " : f32\n").str();
  last = made;
}

void DrawSum::addConstant(StringRef name, StringRef value) {
  text->tail +=
      ("    %" + name + " = arith.constant " + value + " : f32\n").str();
}

std::string DrawSum::addOperand(StringRef name, std::string dims) {
  text->operands.push_back({name.str(), std::move(dims)});
  return ("%" + name + "32").str();
}

std::string DrawSum::addScale(const std::string &dims) {
  addStep("arith.mulf " + last + ", " + addOperand("scale", dims));
  return ", scaled by " + dims;
}

std::string DrawSum::drawBias(const std::string &dims) {
  if (!oneIn(2))
    return "";
  addStep("arith.addf " + last + ", " + addOperand("bias", dims));
  return ", bias";
}

std::string DrawSum::drawResidual() {
  if (!oneIn(4))
    return "";
  addStep("arith.addf " + last + ", " + addOperand("residual", text->out));
  return ", residual";
}

std::string DrawSum::drawActivation() {
  std::string x = last;
  switch (below(7)) {
  case 0:
    addConstant("none", "0.0");
    text->tail += "    %isMore = arith.cmpf ugt, " + x + ", %none : f32\n";
    addStep("arith.select %isMore, " + x + ", %none");
    return ", relu";
  case 1:
    addConstant("half", "0.5");
    addConstant("one", "1.0");
    addConstant("root", "0.70710678118654757");
    addStep("arith.mulf " + x + ", %root");
    addStep("math.erf " + last);
    addStep("arith.addf " + last + ", %one");
    addStep("arith.mulf " + last + ", " + x);
    addStep("arith.mulf " + last + ", %half");
    return ", gelu";
  case 2:
    addStep("math.tanh " + x);
    return ", tanh";
  case 3:
    addConstant("one", "1.0");
    addStep("arith.negf " + x);
    addStep("math.exp " + last);
    addStep("arith.addf " + last + ", %one");
    addStep("arith.divf " + x + ", " + last);
    return ", silu";
  default:
    return "";
  }
}
