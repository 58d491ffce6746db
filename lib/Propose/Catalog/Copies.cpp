//===- Copies.cpp - Stages that copy: pad, insert_slice, concat -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

/// Opens loops over the outer dimensions, in parallel over the flat index; the
/// caller closes two blocks: the loop and the parallel region. There is no
/// barrier but the end of the region, so that a stage that does not read this
/// one can go on in it.
static void openRows(Program &program, Writer &w, ArrayRef<unsigned> vars) {
  int64_t total = 1;
  for (unsigned var : vars)
    total *= program.vars[var].extent;
  w.line("#pragma omp parallel num_threads(" + Twine(program.threads) + ")");
  w.open("");
  w.line("#pragma omp for schedule(static) nowait");
  w.open("for (long row = 0; row < " + Twine(total) + "; ++row)");
  int64_t below = total;
  for (unsigned var : vars) {
    below /= program.vars[var].extent;
    w.line("const long " + program.vars[var].name + " = row / " + Twine(below) +
           " % " + Twine(program.vars[var].extent) + ";");
  }
}

bool KernelEmitter::emitPad(Value value, const Buffer &destination) {
  auto pad = value.getDefiningOp<tensor::PadOp>();
  Value padding = pad.getConstantPaddingValue();
  auto low = pad.getStaticLow(), high = pad.getStaticHigh();
  auto constant =
      padding ? padding.getDefiningOp<arith::ConstantOp>() : nullptr;
  if (!constant || llvm::any_of(low, ShapedType::isDynamic) ||
      llvm::any_of(high, ShapedType::isDynamic) ||
      llvm::any_of(low, [](int64_t v) { return v < 0; }) ||
      llvm::any_of(high, [](int64_t v) { return v < 0; }))
    return program.fail("a pad that is not a constant around a tensor");
  auto from = pad.getSourceType().getShape(),
       to = pad.getResultType().getShape();
  SmallVector<Lin> source, target;
  SmallVector<unsigned> outer;
  std::string inside;
  unsigned inner = 0;
  unsigned rank = to.size();
  if (rank == 0)
    return program.fail("a pad of rank zero");
  for (unsigned d = 0; d < rank; ++d) {
    // The variable runs over the target, but over the source in the last one.
    unsigned var =
        program.newVar(program.fresh("p"), d + 1 == rank ? from[d] : to[d]);
    if (d + 1 == rank) {
      inner = var;
      source.push_back(Lin::ofVar(var));
      target.push_back(Lin::ofVar(var) + Lin(low[d]));
      continue;
    }
    outer.push_back(var);
    target.push_back(Lin::ofVar(var));
    source.push_back(Lin::ofVar(var) + Lin(-low[d]));
    if (low[d] || high[d])
      inside += (inside.empty() ? "" : " && ") + program.vars[var].name +
                " >= " + std::to_string(low[d]) + " && " +
                program.vars[var].name + " < " +
                std::to_string(low[d] + from[d]);
  }
  while (true) {
    Discovery found = discover(pad.getSource(), source);
    bool changed = false;
    if (!materializeUses(found, [](const Use &) { return false; }, changed))
      return false;
    if (!changed)
      break;
  }
  stages.push_back("pad");
  Writer w(program.body);
  w.line("/* Pad. */");
  openRows(program, w, outer);
  std::string rest;
  Scope scope(program, rest, 0);
  // The padding is a literal in the storage type.
  Type padType = padding.getType();
  std::string number;
  if (auto f = dyn_cast<FloatAttr>(constant.getValue())) {
    double v = f.getValueAsDouble();
    number = std::isnan(v)   ? "NAN"
             : std::isinf(v) ? (v > 0 ? "INFINITY" : "-INFINITY")
                             : llvm::formatv("{0:f6}", v).str();
    if (std::isfinite(v) && v != double(int64_t(v)))
      return program.fail("a padding value that is not whole");
  } else if (auto i = dyn_cast<IntegerAttr>(constant.getValue())) {
    number = std::to_string(i.getValue().getSExtValue());
  } else {
    return program.fail("a padding value that is not a number");
  }
  (void)padType;
  std::string type = cTypeOf(destination.elem);
  Lin rowStart =
      scope.linear(value, target) - Lin::ofVar(inner) - Lin(low[rank - 1]);
  w.line(type + " *const line = " + destination.pointer + " + " +
         program.linText(rowStart) + ";");
  w.line("(void)line;");
  if (!inside.empty()) {
    w.open("if (!(" + Twine(inside) + "))");
    w.line("for (long x = 0; x < " + Twine(to[rank - 1]) +
           "; ++x) line[x] = (" + type + ")" + number + ";");
    w.line("continue;");
    w.close();
  }
  if (low[rank - 1])
    w.line("for (long x = 0; x < " + Twine(low[rank - 1]) +
           "; ++x) line[x] = (" + type + ")" + number + ";");
  vectorLoop(w, "x", std::to_string(from[rank - 1]), inner, "0", [&](Scope &s) {
    s.store(destination, s.linear(value, target),
            s.at(pad.getSource(), source));
  });
  if (high[rank - 1])
    w.line("for (long x = " + Twine(low[rank - 1] + from[rank - 1]) + "; x < " +
           Twine(to[rank - 1]) + "; ++x) line[x] = (" + type + ")" + number +
           ";");
  w.close();
  w.close();
  return program.failure.empty();
}

bool KernelEmitter::emitInsert(Value value, const Buffer &destination) {
  // A copy of the whole, then one of each part: later writes win.
  struct Part {
    Value source;
    SmallVector<Lin> from, to;
    SmallVector<unsigned> outer;
    unsigned inner;
  };
  std::vector<Part> parts;
  auto addPart = [&](Value source, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> strides,
                     const llvm::SmallBitVector &dropped) {
    auto shape = cast<RankedTensorType>(source.getType()).getShape();
    Part part;
    part.source = source;
    unsigned next = 0;
    for (size_t d = 0; d < offsets.size(); ++d) {
      Lin i(0);
      if (!dropped.test(d)) {
        unsigned var = program.newVar(program.fresh("p"), shape[next]);
        part.outer.push_back(var);
        i = Lin::ofVar(var);
        part.from.push_back(i);
        ++next;
      }
      part.to.push_back(i * strides[d] + Lin(offsets[d]));
    }
    if (part.outer.empty())
      return false;
    part.inner = part.outer.pop_back_val();
    parts.push_back(part);
    return true;
  };
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
  llvm::SmallBitVector none(shape.size());
  bool ok = true;
  if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
    auto offsets = insert.getStaticOffsets(),
         strides = insert.getStaticStrides();
    if (llvm::any_of(offsets, ShapedType::isDynamic) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return program.fail("an insert_slice at dynamic offsets");
    if (!insert.getDest().getDefiningOp<tensor::EmptyOp>())
      ok &= addPart(insert.getDest(), zeros, ones, none);
    ok &=
        addPart(insert.getSource(), offsets, strides, insert.getDroppedDims());
  } else {
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    int64_t offset = 0;
    for (Value input : concat.getInputs()) {
      SmallVector<int64_t> offsets = zeros;
      offsets[concat.getDim()] = offset;
      ok &= addPart(input, offsets, ones, none);
      offset +=
          cast<RankedTensorType>(input.getType()).getDimSize(concat.getDim());
    }
  }
  if (!ok)
    return program.fail("an insertion of rank zero");
  for (Part &part : parts)
    while (true) {
      Discovery found = discover(part.source, part.from);
      bool changed = false;
      if (!materializeUses(found, [](const Use &) { return false; }, changed))
        return false;
      if (!changed)
        break;
    }
  stages.push_back("insert");
  for (Part &part : parts) {
    Writer w(program.body);
    w.line("/* Copy. */");
    openRows(program, w, part.outer);
    vectorLoop(w, "x", std::to_string(program.vars[part.inner].extent),
               part.inner, "0", [&](Scope &s) {
                 s.store(destination, s.linear(value, part.to),
                         s.at(part.source, part.from));
               });
    w.close();
    w.close();
  }
  return program.failure.empty();
}
