//===- TMTensorDialect.cpp - torch-mlir's tm_tensor dialect ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fastk::tm_tensor;

#include "fastk/Dialect/TMTensor/TMTensorDialect.cpp.inc"

#define GET_OP_CLASSES
#include "fastk/Dialect/TMTensor/TMTensorOps.cpp.inc"

void TMTensorDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "fastk/Dialect/TMTensor/TMTensorOps.cpp.inc"
      >();
}

namespace {
/// An error of an op; every one ends in the rule that it breaks.
class Complaint {
public:
  explicit Complaint(Operation *op) : diag(op->emitOpError()), op(op) {}
  template <typename T>
  Complaint &operator<<(T &&value) {
    diag << std::forward<T>(value);
    return *this;
  }
  operator LogicalResult() {
    diag << " (required by '" << op->getName().getStringRef() << "')";
    return failure();
  }

private:
  InFlightDiagnostic diag;
  Operation *op;
};
} // namespace

/// Compares two sizes, of which either may be known at run time only.
static bool mayBeEqual(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static bool mayBeEqual(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return mayBeEqual(std::get<0>(pair), std::get<1>(pair));
         });
}

/// The shape without dimension `dim`.
static SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t dim) {
  SmallVector<int64_t> rest(shape);
  rest.erase(rest.begin() + dim);
  return rest;
}

static LogicalResult verifyCounts(Operation *op, OperandRange inputs,
                                  ArrayRef<unsigned> wantedInputs,
                                  OperandRange outputs,
                                  unsigned wantedOutputs) {
  if (!llvm::is_contained(wantedInputs, inputs.size()))
    return Complaint(op) << "has " << inputs.size() << " 'ins' operands, not "
                         << wantedInputs.front()
                         << (wantedInputs.size() > 1 ? " or one more" : "");
  if (outputs.size() != wantedOutputs)
    return Complaint(op) << "has " << outputs.size() << " 'outs' operands, not "
                         << wantedOutputs;
  return success();
}

static LogicalResult verifyDimension(Operation *op, int64_t dimension,
                                     ShapedType type) {
  if (dimension < 0 || dimension >= type.getRank())
    return Complaint(op) << "dimension(" << dimension << ") is none of "
                         << type;
  return success();
}

/// The body's arguments, and the one value that it yields.
static LogicalResult verifyBody(Operation *op, TypeRange arguments,
                                Type yielded) {
  Block &body = op->getRegion(0).front();
  if (body.getArgumentTypes() != arguments)
    return Complaint(op) << "body takes (" << body.getArgumentTypes()
                         << "), not (" << arguments << ")";
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return Complaint(op) << "body must end in 'tm_tensor.yield'";
  if (yield.getOperands().getTypes() != TypeRange(yielded))
    return Complaint(op) << "body yields (" << yield.getOperands().getTypes()
                         << "), not " << yielded;
  return success();
}

template <typename OpTy>
static void
addEffects(OpTy op, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  if (failed(verifyCounts(*this, getInputs(), {1}, getOutputs(), 2)))
    return failure();
  ShapedType input = getInputType(0), output = getOutputType(0),
             accumulator = getOutputType(1);
  if (failed(verifyDimension(*this, getDimension(), input)))
    return failure();
  Type element = input.getElementType();
  if (output.getElementType() != element ||
      accumulator.getElementType() != element)
    return Complaint(*this)
           << "scans " << element << " into " << output.getElementType()
           << " and " << accumulator.getElementType();
  if (!mayBeEqual(input.getShape(), output.getShape()))
    return Complaint(*this)
           << "scans " << input << " into " << output << " of another shape";
  if (!mayBeEqual(without(input.getShape(), getDimension()),
                  accumulator.getShape()))
    return Complaint(*this)
           << "accumulator " << accumulator << " is not " << input
           << " without dimension " << static_cast<int64_t>(getDimension());
  return verifyBody(*this, {element, element}, element);
}

void ScanOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() {
  if (failed(verifyCounts(*this, getInputs(), {2}, getOutputs(), 1)))
    return failure();
  ShapedType updates = getInputType(0), indices = getInputType(1),
             target = getOutputType(0);
  if (indices.getRank() != 2 || !isa<IntegerType>(indices.getElementType()))
    return Complaint(*this)
           << "indices are " << indices << ", not integers of rank 2";
  int64_t depth = indices.getDimSize(1);
  if (ShapedType::isDynamic(depth))
    return Complaint(*this) << "indices " << indices
                            << " do not say how many dimensions they are for";
  ArrayRef<int64_t> map = getDimensionMap();
  if (static_cast<int64_t>(map.size()) != depth)
    return Complaint(*this) << "dimension_map has " << map.size()
                            << " entries for indices of depth " << depth;
  SmallVector<bool> seen(target.getRank(), false);
  for (int64_t dim : map) {
    if (dim < 0 || dim >= target.getRank() || seen[dim])
      return Complaint(*this)
             << "dimension_map names dimension " << dim << " of " << target
             << ", which does not exist or was named "
                "before";
    seen[dim] = true;
  }
  if (updates.getRank() < 1 ||
      !mayBeEqual(updates.getDimSize(0), indices.getDimSize(0)))
    return Complaint(*this) << "has updates " << updates << " for indices "
                            << indices << ": their first dimensions must agree";
  int64_t slice = updates.getRank() - 1;
  if (slice > target.getRank())
    return Complaint(*this)
           << "slices of " << updates << " have a higher rank than " << target;
  // What the indices do not say the slice must.
  for (int64_t dim = 0, e = target.getRank(); dim < e; ++dim) {
    int64_t inSlice = dim - (e - slice);
    if (!seen[dim] && inSlice < 0)
      return Complaint(*this)
             << "neither the indices nor the slices of " << updates
             << " say where in dimension " << dim << " of " << target;
    if (inSlice < 0)
      continue;
    int64_t size = updates.getDimSize(inSlice + 1);
    if (!ShapedType::isDynamic(size) && !target.isDynamicDim(dim) &&
        size > target.getDimSize(dim))
      return Complaint(*this) << "slices of " << updates << " do not fit into "
                              << target << " in dimension " << dim;
  }
  Type element = target.getElementType();
  if (updates.getElementType() != element)
    return Complaint(*this)
           << "scatters " << updates.getElementType() << " into " << element;
  return verifyBody(*this, {element, element}, element);
}

void ScatterOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// SortOp
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  if (!getInputs().empty())
    return Complaint(*this) << "has 'ins' operands; it sorts its 'outs'";
  if (getOutputs().empty())
    return Complaint(*this) << "has nothing to sort";
  ShapedType first = getOutputType(0);
  if (failed(verifyDimension(*this, getDimension(), first)))
    return failure();
  SmallVector<Type> arguments;
  for (Value output : getOutputs()) {
    auto type = cast<ShapedType>(output.getType());
    if (!mayBeEqual(type.getShape(), first.getShape()))
      return Complaint(*this) << "sorts " << first << " together with " << type
                              << " of another shape";
    arguments.append(2, type.getElementType());
  }
  return verifyBody(*this, arguments, IntegerType::get(getContext(), 1));
}

void SortOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// TopkOp
//===----------------------------------------------------------------------===//

LogicalResult TopkOp::verify() {
  if (failed(verifyCounts(*this, getInputs(), {1, 2}, getOutputs(), 2)))
    return failure();
  ShapedType values = getInputType(0), best = getOutputType(0),
             bestIndices = getOutputType(1);
  int64_t dimension = getDimension();
  if (failed(verifyDimension(*this, dimension, values)))
    return failure();
  Type element = values.getElementType();
  if (best.getElementType() != element)
    return Complaint(*this) << "chooses from " << values << " into " << best;
  if (best.getRank() != values.getRank() ||
      !mayBeEqual(without(values.getShape(), dimension),
                  without(best.getShape(), dimension)))
    return Complaint(*this) << "values " << values << " and result " << best
                            << " differ in more than dimension " << dimension;
  if (!mayBeEqual(best.getShape(), bestIndices.getShape()))
    return Complaint(*this) << "result " << best << " has indices "
                            << bestIndices << " of another shape";
  auto index = dyn_cast<IntegerType>(bestIndices.getElementType());
  if (!index)
    return Complaint(*this)
           << "indices are " << bestIndices << ", not integers";
  if (getInputs().size() == 2) {
    ShapedType indices = getInputType(1);
    if (indices.getElementType() != index ||
        !mayBeEqual(indices.getShape(), values.getShape()))
      return Complaint(*this)
             << "indices " << indices << " do not fit values " << values
             << " and resulting indices " << bestIndices;
  }
  return verifyBody(*this, {element, element},
                    IntegerType::get(getContext(), 1));
}

void TopkOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  if (failed(verifyCounts(*this, getInputs(), {3, 4}, getOutputs(), 1)))
    return failure();
  ShapedType query = getInputType(0), key = getInputType(1),
             value = getInputType(2), output = getOutputType(0);
  for (ShapedType type : {query, key, value, output}) {
    if (type.getRank() != 3)
      return Complaint(*this) << "takes " << type << ", which is not of rank 3";
    if (!isa<FloatType>(type.getElementType()) ||
        type.getElementType() != query.getElementType())
      return Complaint(*this) << "takes " << type << " with " << query
                              << ": all must be of one float type";
  }
  auto check = [&](ShapedType type, ArrayRef<int64_t> wanted,
                   StringRef what) -> LogicalResult {
    if (mayBeEqual(type.getShape(), wanted))
      return success();
    return Complaint(*this) << what << " " << type << " does not fit Q "
                            << query << ", K " << key << " and V " << value;
  };
  int64_t batch = query.getDimSize(0), rows = query.getDimSize(1),
          columns = key.getDimSize(1);
  if (failed(check(key, {batch, columns, query.getDimSize(2)}, "K")) ||
      failed(check(value, {batch, columns, value.getDimSize(2)}, "V")) ||
      failed(check(output, {batch, rows, value.getDimSize(2)}, "result")))
    return failure();
  if (getInputs().size() == 3)
    return success();
  ShapedType mask = getInputType(3);
  if (!isa<FloatType>(mask.getElementType()) &&
      !mask.getElementType().isInteger(1))
    return Complaint(*this)
           << "mask " << mask << " holds neither floats nor i1";
  return check(mask, {batch, rows, columns}, "mask");
}

void AttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}
