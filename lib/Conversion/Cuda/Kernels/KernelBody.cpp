//===- KernelBody.cpp - A linalg.generic inside a kernel ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "fastk/Dialect/Linalg/FusedProducts.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;

MemRefType fastk::parameterType(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return nullptr;
  if (type.getLayout().isIdentity())
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

gpu::GPUFuncOp fastk::createKernel(OpBuilder &builder, Location loc,
                                   gpu::GPUModuleOp module, StringRef name,
                                   TypeRange parameters, int64_t threads) {
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = gpu::GPUFuncOp::create(
      builder, loc, name, builder.getFunctionType(parameters, TypeRange()));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  builder.setInsertionPointToStart(&kernel.getBody().front());
  builder.setInsertionPoint(gpu::ReturnOp::create(builder, loc));
  return kernel;
}

bool fastk::isConstantGlobal(Value memref) {
  auto get = memref.getDefiningOp<memref::GetGlobalOp>();
  if (!get)
    return false;
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      get, get.getNameAttr());
  return global && global.getConstant();
}

gpu::GPUFuncOp fastk::createKernel(OpBuilder &builder, Operation *op,
                                   gpu::GPUModuleOp module, StringRef name,
                                   int64_t threads, ArrayRef<Value> used,
                                   SmallVectorImpl<Value> &operands,
                                   IRMapping &mapping) {
  SmallVector<Value> constants;
  SmallVector<Type> types;
  for (Value value : used) {
    Operation *definition = value.getDefiningOp();
    if (definition && (definition->hasTrait<OpTrait::ConstantLike>() ||
                       isConstantGlobal(value))) {
      constants.push_back(value);
      continue;
    }
    operands.push_back(value);
    types.push_back(parameterType(cast<MemRefType>(value.getType())));
  }
  gpu::GPUFuncOp func =
      createKernel(builder, op->getLoc(), module, name, types, threads);
  for (auto [host, device] : llvm::zip_equal(operands, func.getArguments()))
    mapping.map(host, device);
  SymbolTable hostSymbols(op->getParentOfType<ModuleOp>());
  for (Value value : constants) {
    Operation *definition = value.getDefiningOp();
    builder.clone(*definition, mapping);
    auto get = dyn_cast<memref::GetGlobalOp>(definition);
    if (!get || module.lookupSymbol(get.getName()))
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    builder.clone(*hostSymbols.lookup(get.getName()));
  }
  return func;
}

KernelBody::KernelBody(linalg::GenericOp op)
    : op(op), builder(op.getContext()), loc(op.getLoc()),
      extents(op.getStaticLoopRanges()) {
  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    (iterator == utils::IteratorType::parallel ? parallelDims : reductionDims)
        .push_back(dim);
}

gpu::GPUFuncOp KernelBody::createFunction(gpu::GPUModuleOp module,
                                          StringRef name, int64_t threads) {
  // Every memref the op touches, in the order of its operands; what the body
  // captures comes behind. Constants are made again in the kernel.
  llvm::SetVector<Value> used;
  used.insert(op->operand_begin(), op->operand_end());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegion(), captured);
  used.insert(captured.begin(), captured.end());
  return createFunction(module, name, threads, used.getArrayRef());
}

gpu::GPUFuncOp KernelBody::createFunction(gpu::GPUModuleOp module,
                                          StringRef name, int64_t threads,
                                          ArrayRef<Value> used) {
  return createKernel(builder, op, module, name, threads, used, operands,
                      mapping);
}

Value KernelBody::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

int64_t KernelBody::strideOf(unsigned operand, unsigned dim) {
  auto type = dyn_cast<MemRefType>(op->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return 0;
  AffineMap map = op.getIndexingMapsArray()[operand];
  // The maps of structured ops are linear almost always: the difference of one
  // step tells.
  SmallVector<int64_t> point(extents.size(), 0);
  SmallVector<int64_t> from = map.compose(point);
  point[dim] = 1;
  SmallVector<int64_t> to = map.compose(point);
  int64_t stride = 0;
  for (auto [a, b, s] : llvm::zip_equal(from, to, strides))
    stride += (b - a) * s;
  return stride;
}

SmallVector<unsigned> KernelBody::orderForCoalescing(ArrayRef<unsigned> dims) {
  auto votes = [&](unsigned dim) {
    int64_t count = 0;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (strideOf(i, dim) == 1)
        count += op.isDpsInit(&op->getOpOperand(i)) ? 2 : 1;
    return count;
  };
  SmallVector<unsigned> order(dims);
  unsigned best = order.size();
  int64_t most = 0;
  // The last of equals: in row-major data it is the longest run.
  for (auto [position, dim] : llvm::enumerate(order))
    if (extents[dim] > 1 && votes(dim) >= most) {
      most = votes(dim);
      best = position;
    }
  if (best < order.size())
    std::rotate(order.begin() + best, order.begin() + best + 1, order.end());
  return order;
}

int64_t KernelBody::countPoints(ArrayRef<unsigned> dims) const {
  int64_t count = 1;
  for (unsigned dim : dims)
    count *= extents[dim];
  return count;
}

void KernelBody::delinearize(Value number, ArrayRef<unsigned> dims,
                             MutableArrayRef<Value> indices) {
  for (unsigned k = dims.size(); k-- > 0;) {
    unsigned dim = dims[k];
    if (k == 0) {
      indices[dim] = number;
      return;
    }
    Value extent = constant(extents[dim]);
    indices[dim] = arith::RemUIOp::create(builder, loc, number, extent);
    number = arith::DivUIOp::create(builder, loc, number, extent);
  }
}

SmallVector<Value> KernelBody::subscripts(unsigned operand,
                                          ArrayRef<Value> indices) {
  AffineMap map = op.getIndexingMapsArray()[operand];
  auto expanded = affine::expandAffineMap(builder, loc, map, indices);
  return SmallVector<Value>(expanded->begin(), expanded->end());
}

Value KernelBody::zero(Type type) {
  auto complexType = dyn_cast<ComplexType>(type);
  if (!complexType)
    return arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  Attribute part = builder.getZeroAttr(complexType.getElementType());
  return complex::ConstantOp::create(builder, loc, type,
                                     builder.getArrayAttr({part, part}));
}

Value KernelBody::loadResult(unsigned index, ArrayRef<Value> indices) {
  OpOperand *init = op.getDpsInitOperand(index);
  return memref::LoadOp::create(builder, loc, mapping.lookup(init->get()),
                                subscripts(init->getOperandNumber(), indices));
}

void KernelBody::storeResult(unsigned index, ArrayRef<Value> indices,
                             Value value) {
  OpOperand *init = op.getDpsInitOperand(index);
  memref::StoreOp::create(builder, loc, value, mapping.lookup(init->get()),
                          subscripts(init->getOperandNumber(), indices));
}

SmallVector<Value> KernelBody::evaluate(ArrayRef<Value> indices,
                                        ValueRange accumulators) {
  Block *body = op.getBlock();
  IRMapping values(mapping);
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned i = 0; i < inputs; ++i) {
    BlockArgument argument = body->getArgument(i);
    if (argument.use_empty())
      continue;
    Value operand = op->getOperand(i);
    // A scalar operand is itself.
    if (!isa<MemRefType>(operand.getType())) {
      values.map(argument, mapping.lookup(operand));
      continue;
    }
    Value loaded = memref::LoadOp::create(builder, loc, mapping.lookup(operand),
                                          subscripts(i, indices));
    values.map(argument, loaded);
  }
  for (auto [argument, value] :
       llvm::zip_equal(body->getArguments().drop_front(inputs), accumulators))
    values.map(argument, value);
  for (Operation &each : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(each)) {
      values.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    builder.clone(each, values);
    allowFusedProduct(each, values);
  }
  SmallVector<Value> results;
  for (Value value : body->getTerminator()->getOperands())
    results.push_back(values.lookupOrDefault(value));
  return results;
}
