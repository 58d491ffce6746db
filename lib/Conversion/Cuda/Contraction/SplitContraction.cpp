//===- SplitContraction.cpp - Sums in parts -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of few tiles leaves most of the device idle. Where its sums are long
// they are cut: the parts are one more batch, written to scratch memory, and a
// second kernel adds them up, always in the same order.
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"

using namespace mlir;
using namespace fastk;

/// Of the second kernel.
static constexpr int64_t kThreads = 256;
/// Terms that a part has at least.
static constexpr int64_t kShortestPart = 96;
/// Elements that vector accesses and slices need.
static constexpr int64_t kAligned = 16;
/// Parts of a sum at most.
static constexpr int64_t kMaxParts = 32;
/// What a second kernel costs, in seconds, and scratch memory in bytes a
/// second, written and read: measured on an H200.
static constexpr double kLaunch = 3e-6, kBandwidth = 3e12;

static double estimate(const Contraction &contraction) {
  return contraction.onTensorCores ? estimateTensorCoreContraction(contraction)
                                   : estimateScalarContraction(contraction);
}

int64_t fastk::countPartials(const Contraction &contraction, int64_t split) {
  return split * contraction.batch.size() * contraction.m.size() *
         contraction.n.size();
}

std::optional<int64_t> fastk::chooseSplit(const Contraction &contraction) {
  if (int64_t parts = contraction.chosen("contraction_parts", 0)) {
    int64_t extent = contraction.k.loops.front().extent;
    int64_t bytes = countPartials(contraction, parts) *
                    contraction.element.getIntOrFloatBitWidth() / 8;
    if (parts > 1 && contraction.choices->isGiven("contraction_parts") &&
        !contraction.choices->fits(
            bytes, contraction.device.workspaceBytes / 2,
            "'fastk.contraction_parts': bytes of workspace for the parts"))
      return std::nullopt;
    if (extent % parts == 0)
      return parts;
    contraction.choices->refuse(
        "'fastk.contraction_parts' = " + Twine(parts) +
        " does not divide the outermost loop of the sum, of " + Twine(extent));
    return std::nullopt;
  }
  int64_t best = 1;
  double least = estimate(contraction);
  for (int64_t split = 2; split <= kMaxParts; ++split) {
    const TileLoop &outer = contraction.k.loops.front();
    if (outer.extent % split != 0 ||
        contraction.k.size() / split < kShortestPart)
      continue;
    // Parts are as aligned as the whole.
    if (contraction.k.loops.size() == 1 && outer.extent % kAligned == 0 &&
        outer.extent / split % kAligned != 0)
      continue;
    double bytes = 2.0 * countPartials(contraction, split) *
                   contraction.element.getIntOrFloatBitWidth() / 8;
    double time = estimate(takeProducts(contraction, split, nullptr)) +
                  kLaunch + bytes / kBandwidth;
    // A second kernel has to pay clearly.
    if (time >= least * 0.85 || (best > 1 && time >= least))
      continue;
    best = split;
    least = time;
  }
  return best;
}

/// Appends `partial` to the operands, as [part, batch, m, n] in one piece, with
/// the part left out.
static void appendPartial(Contraction &contraction, Value partial) {
  contraction.partial = contraction.operands.size();
  contraction.operands.push_back(partial);
  int64_t stride = 1;
  for (LoopGroup *group : {&contraction.n, &contraction.m, &contraction.batch})
    for (TileLoop &loop : llvm::reverse(group->loops)) {
      loop.strides.push_back(stride);
      stride *= loop.extent;
    }
  for (TileLoop &loop : contraction.k.loops)
    loop.strides.push_back(0);
}

Contraction fastk::takeProducts(const Contraction &contraction, int64_t split,
                                Value partial) {
  Contraction products = contraction;
  products.part = ContractionPart::Products;
  products.fold = {};
  appendPartial(products, partial);
  products.result = products.partial;
  TileLoop &inner = products.k.loops.front();
  inner.extent /= split;
  TileLoop part;
  part.extent = split;
  for (int64_t stride : inner.strides)
    part.strides.push_back(stride * inner.extent);
  part.strides[products.partial] = countPartials(contraction, 1);
  products.batch.loops.insert(products.batch.loops.begin(), part);
  if (inner.extent == 1 && products.k.loops.size() > 1)
    products.k.loops.erase(products.k.loops.begin());
  return products;
}

Contraction fastk::takeSums(const Contraction &contraction, int64_t split,
                            Value partial) {
  Contraction sums = contraction;
  sums.part = ContractionPart::Sums;
  appendPartial(sums, partial);
  TileLoop part;
  part.extent = split;
  part.strides.assign(sums.operands.size(), 0);
  part.strides[sums.partial] = countPartials(contraction, 1);
  sums.k.loops.assign(1, part);
  return sums;
}

DeviceKernel fastk::buildSumsKernel(gpu::GPUModuleOp module,
                                    const Contraction &contraction,
                                    StringRef name) {
  int64_t group = 128 / contraction.element.getIntOrFloatBitWidth();
  int64_t width =
      contraction.isVectorAccess(contraction.partial, contraction.n, group) &&
              contraction.isVectorAccess(contraction.result, contraction.n,
                                         group)
          ? group
          : 1;
  TileEmitter emit(module, contraction, name, kThreads);
  DeviceKernel kernel;
  kernel.name = name.str();
  kernel.threads = kThreads;
  kernel.operands = emit.body.operands;
  int64_t points = countPartials(contraction, 1) / width;
  kernel.blocks = llvm::divideCeil(points, kThreads);
  auto [row, column] = emit.locatePoint(width, kThreads);
  SmallVector<Value> columns;
  for (int64_t i = 0; i < width; ++i)
    columns.push_back(emit.add(column, i));

  TileOperand partial = emit.operand(contraction.partial);
  Value inside = emit.min(row, contraction.m.size() - 1);
  SmallVector<Value> sums;
  int64_t parts = contraction.k.size();
  for (int64_t part = 0; part < parts; ++part) {
    Value place = emit.place(
        partial, {emit.offset(contraction.m, inside, partial),
                  emit.offset(contraction.n, column, partial),
                  emit.offset(contraction.k, emit.number(part), partial)});
    SmallVector<Value> values = emit.load(partial, place, width);
    if (part == 0) {
      sums = values;
      continue;
    }
    for (auto [sum, value] : llvm::zip_equal(sums, values))
      sum = arith::AddFOp::create(emit.builder, emit.loc, sum, value);
  }
  emit.storeResult(row, columns, width, sums);
  return kernel;
}
