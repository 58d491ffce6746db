//===- LanesText.cpp - Functions of vectors in C --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LanesText.h"
#include "CudaText.h"
#include "IndexSpace.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::HeaderText;
using families::SummedProducts;

void families::setUpHost(HeaderText &header, const Machine &machine) {
  header.program.dialect = Program::Dialect::C;
  header.program.knowsBF16 = true;
  header.program.lanes = machine.lanes();
  header.program.masksByRegisters = machine.masksByRegisters();
  header.program.threads = machine.threads;
}

std::optional<families::CoreInstance> families::takeHostCore(HeaderText &header,
                                                             std::string &why) {
  std::optional<std::string> text = header.takeText(why);
  if (!text)
    return std::nullopt;
  // Programs move vectors, whatever elements need.
  for (const char *helper : {"transpose", "load_f32", "store_f32"})
    header.program.helper(helper);
  CoreInstance core;
  core.header = preamble(header.program) + kTypesOfC.str();
  core.helperBytes = core.header.size();
  core.header += *text;
  core.inputs = header.program.buffers.size();
  return core;
}

int64_t families::workOfLines(StringRef lines) {
  // Instructions of a function beyond one.
  constexpr int64_t kCostly = 16;
  int64_t work = lines.count('\n') + 4 * lines.count(" / ");
  for (StringRef costly : {"fk_exp_", "fk_erf_", "fk_tanh_", "fk_log_",
                           "fk_gather_", "fk_scatter_"})
    work += kCostly * lines.count(costly);
  return work + 8 * kCostly * lines.count("fk_map");
}

bool families::isAlong(const HeaderText &header, ArrayRef<unsigned> group,
                       llvm::function_ref<void(Scope &)> compute) {
  std::optional<unsigned> inner = innermost(header.program, group);
  bool isTogether = false;
  Program scratch = header.program;
  std::string unused;
  Scope scope(scratch, unused, 0);
  scope.onLoad = [&](const Buffer &, const Lin &place) {
    isTogether |= inner && place.coefficient(*inner) == 1;
  };
  compute(scope);
  return isTogether;
}

void families::writeLanes(
    HeaderText &header, ArrayRef<unsigned> group, StringRef index,
    llvm::function_ref<void(Program &, Scope &)> compute) {
  Program &program = header.program;
  std::optional<unsigned> inner = innermost(program, group);
  if (!inner)
    return;
  MergedVars whole;
  for (unsigned var : group)
    if (program.vars[var].extent > 1)
      whole.parts.push_back(var);
  Program merged = program;
  if (whole.parts.size() > 1)
    whole.merged = merged.newVar("all", sizeOf(program, group));
  else
    whole.merged = *inner;
  std::string lines = "  if (count >= LANES) {\n";
  auto attempt = [&](Program &scratch, unsigned along, bool isPartial) {
    Scope scope(scratch, lines, 2);
    scope.vectorVar = along;
    if (along != *inner)
      scope.merged.push_back(whole);
    if (isPartial)
      scope.partial = "count";
    compute(scratch, scope);
  };
  attempt(merged, whole.merged, false);
  lines += "  } else {\n";
  attempt(merged, whole.merged, true);
  lines += "  }\n";
  if (merged.failure.empty()) {
    if (whole.merged != *inner)
      header.os << "  const long all = " << index << ";\n";
    header.os << lines;
    merged.vars.resize(program.vars.size());
    program = merged;
    return;
  }
  Program scratch = program;
  lines = "  if (count >= LANES && " + program.vars[*inner].name +
          " + LANES <= " + std::to_string(program.vars[*inner].extent) +
          ") {\n";
  attempt(scratch, *inner, false);
  if (!scratch.failure.empty())
    return;
  header.os << lines << "  }\n";
  program = scratch;
}

void families::writeLaneByLane(HeaderText &header, const Twine &element) {
  header.os << "  vf32 lanes = (vf32)0.0f;\n  for (long i = 0; i < LANES; ++i)"
               "\n    if (i < count)\n      lanes[i] = "
            << element << ";\n  return lanes;\n}\n";
}

void families::writeReturn(HeaderText &header, Elem result, StringRef body,
                           const CValue &value) {
  header.os << body << "  return "
            << (result == Elem::BF16 ? header.program.helper("narrows_bf16")
                                     : "(OUT_TYPE)")
            << "(" << value.text << ");\n}\n";
}

void families::writeStoredLanes(
    HeaderText &header, ArrayRef<unsigned> group, StringRef index, Elem result,
    const Lin &place, llvm::function_ref<CValue(Program &, Scope &)> compute) {
  writeLanes(header, group, index, [&](Program &of, Scope &scope) {
    scope.store({"out", result}, place, compute(of, scope));
    scope.line("return;");
  });
}

CValue families::finishValue(const SummedProducts &products, Program &of,
                             Scope &scope, bool isVector) {
  scope.onOpaque = [&of, isVector, &products](Scope &inner, Value value,
                                              ArrayRef<Lin>) -> CValue {
    mlir::linalg::GenericOp op = products.op;
    if (value != op->getResult(0)) {
      of.fail("what surrounds the sums is not elementwise");
      return {};
    }
    return sumWithStart(products, inner, isVector);
  };
  return scope.at(products.result, products.index);
}

bool families::finishIsSum(const HeaderText &header,
                           const SummedProducts &products) {
  Program scratch = header.program;
  std::string text;
  Scope scope(scratch, text, 0);
  return products.resultElem == Elem::F32 &&
         finishValue(products, scratch, scope, false).text == "acc";
}

void families::writeFinishBody(HeaderText &header,
                               const SummedProducts &products) {
  std::string body;
  Scope scope(header.program, body, 1);
  CValue value = finishValue(products, header.program, scope, false);
  writeReturn(header, products.resultElem, body, value);
}

void families::writeFinishLanes(HeaderText &header,
                                const SummedProducts &products,
                                ArrayRef<unsigned> group, StringRef index) {
  writeStoredLanes(header, group, index, products.resultElem,
                   Scope::linear(products.result, products.index),
                   [&](Program &of, Scope &scope) {
                     return finishValue(products, of, scope, true);
                   });
}
