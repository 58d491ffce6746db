//===- FillSplats.cpp - Constants of one value are no data ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bufferization makes data of every constant tensor. One that holds a single
// value is written from that value instead: as data, 16 million ones are 64 MiB
// of a library, and on a GPU four times as much text for its assembler.
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fastk;

/// The one value that all elements of `buffer` have, if it is a constant.
static Attribute splatOf(Value buffer, SymbolTable &symbols) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto get = buffer.getDefiningOp<memref::GetGlobalOp>();
  auto global = get ? symbols.lookup<memref::GlobalOp>(get.getName()) : nullptr;
  if (!global || !global.getConstant())
    return {};
  auto splat = dyn_cast_if_present<SplatElementsAttr>(
      global.getInitialValue().value_or(Attribute()));
  return splat ? splat.getSplatValue<Attribute>() : Attribute();
}

/// Null where no op makes a scalar of `value`.
static Value scalarOf(OpBuilder &builder, Location loc, Attribute value,
                      Type type) {
  if (isa<ComplexType>(type))
    return complex::ConstantOp::create(builder, loc, type,
                                       cast<ArrayAttr>(value));
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || !arith::ConstantOp::isBuildableWith(typed, type))
    return {};
  return arith::ConstantOp::create(builder, loc, type, typed);
}

static void fillSplats(ModuleOp module) {
  SymbolTable symbols(module);
  IRRewriter rewriter(module.getContext());
  auto replace = [&](Operation *op, Value source, Value target) {
    Attribute value = splatOf(source, symbols);
    // A copy may cast, by rules that a fill does not have.
    if (!value || getElementTypeOrSelf(source.getType()) !=
                      getElementTypeOrSelf(target.getType()))
      return;
    rewriter.setInsertionPoint(op);
    Value scalar = scalarOf(rewriter, op->getLoc(), value,
                            getElementTypeOrSelf(source.getType()));
    if (scalar)
      rewriter.replaceOpWithNewOp<linalg::FillOp>(op, scalar, target);
  };
  SmallVector<Operation *> copies, readers;
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](Operation *op) {
      if (isa<memref::CopyOp, linalg::CopyOp>(op))
        copies.push_back(op);
      else if (isa<ViewLikeOpInterface, memref::GetGlobalOp>(op))
        readers.push_back(op);
    });
  for (Operation *op : copies) {
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      replace(op, copy.getSource(), copy.getTarget());
    else if (auto copy = dyn_cast<linalg::CopyOp>(op))
      replace(op, copy.getInputs().front(), copy.getOutputs().front());
  }
  // Nobody else removes what is no longer read.
  for (Operation *op : llvm::reverse(readers))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  if (!uses)
    return;
  llvm::DenseSet<StringAttr> used;
  for (SymbolTable::SymbolUse use : *uses)
    used.insert(use.getSymbolRef().getRootReference());
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (global.isPrivate() && !used.contains(global.getSymNameAttr()))
      global.erase();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKFILLSPLATSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkFillSplatsPass
    : impl::FastkFillSplatsPassBase<FastkFillSplatsPass> {
  using Base::Base;
  void runOnOperation() override { fillSplats(getOperation()); }
};
} // namespace
} // namespace fastk
