//===- JobBuilder.cpp - What the worker must know of a workload -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/JobBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace fastk;

std::optional<worker::ElementType> fastk::toElementType(Type type) {
  using worker::ElementType;
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isInteger(64) || type.isIndex())
    return ElementType::I64;
  if (type.isInteger(32))
    return ElementType::I32;
  if (type.isInteger(8))
    return ElementType::I8;
  if (type.isInteger(1))
    return ElementType::I1;
  return std::nullopt;
}

static llvm::Expected<worker::Tensor> toTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<worker::ElementType> element;
  if (tensor && tensor.hasStaticShape())
    element = toElementType(tensor.getElementType());
  if (!element) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return llvm::createStringError(
        "operands of type " + text +
        " cannot be evaluated: the worker draws f64, f32, f16, bf16, i64, i32, "
        "i8 and i1 of static shape");
  }
  if (ShapedType::getNumElements(tensor.getShape()) > worker::maxElements) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return llvm::createStringError(
        "operands of type " + text +
        " cannot be evaluated: they have more than 2^40 elements, which no "
        "machine holds; export the model with smaller shapes");
  }
  worker::Tensor result;
  result.type = *element;
  result.shape = tensor.getShape().vec();
  return result;
}

static worker::Role toRole(const InputFeatures &input) {
  switch (input.role) {
  case InputRole::Data:
    return worker::Role::Data;
  case InputRole::Weight:
    return worker::Role::Weight;
  case InputRole::Bias:
    return worker::Role::Bias;
  case InputRole::Scale:
    return worker::Role::Scale;
  case InputRole::Mask:
    return worker::Role::Mask;
  case InputRole::Index:
    return worker::Role::Index;
  case InputRole::Positive:
    return worker::Role::Positive;
  case InputRole::Divisor:
    return worker::Role::Divisor;
  }
  llvm_unreachable("all roles are named above");
}

static worker::Kind toKind(WorkloadKind kind) {
  switch (kind) {
  case WorkloadKind::Contraction:
    return worker::Kind::Contraction;
  case WorkloadKind::Convolution:
    return worker::Kind::Convolution;
  case WorkloadKind::Softmax:
    return worker::Kind::Softmax;
  case WorkloadKind::Norm:
    return worker::Kind::Norm;
  case WorkloadKind::Attention:
    return worker::Kind::Attention;
  case WorkloadKind::Reduction:
    return worker::Kind::Reduction;
  case WorkloadKind::Elementwise:
    return worker::Kind::Elementwise;
  case WorkloadKind::Pooling:
    return worker::Kind::Pooling;
  case WorkloadKind::Other:
    return worker::Kind::Other;
  }
  llvm_unreachable("all kinds are named above");
}

/// Whether all elements of a tensor are one constant.
static bool isOneConstant(Value tensor) {
  SplatElementsAttr splat;
  if (matchPattern(tensor, m_Constant(&splat)))
    return true;
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.value(), m_Constant());
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  return generic && generic.getNumDpsInputs() == 0 &&
         llvm::all_of(
             generic.getBlock()->getTerminator()->getOperands(),
             [](Value value) { return matchPattern(value, m_Constant()); });
}

/// What NaN and infinities may become on their way (docs/validation.md).
static worker::NonFinite nonFiniteOf(Region &body,
                                     const WorkloadFeatures &features) {
  bool sums = false;
  // Padding and masks, by coordinates or as operands, take terms out of sums,
  // and a kernel need not compute what they take out.
  bool masks = llvm::any_of(features.inputs, [](const InputFeatures &input) {
    return input.role == InputRole::Mask;
  });
  body.walk([&](Operation *op) {
    masks |= isa<tensor::PadOp, linalg::IndexOp>(op);
    // Between the elements of what a transposed convolution reads, too.
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      masks |= isOneConstant(insert.getDest());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || linalgOp.getNumReductionLoops() == 0)
      return;
    for (Operation &scalar : *linalgOp.getBlock())
      sums |= isa<arith::AddFOp, arith::MulFOp>(scalar);
  });
  if (!sums)
    return worker::NonFinite::Exact;
  return masks ? worker::NonFinite::Free : worker::NonFinite::Any;
}

llvm::Expected<worker::Job> fastk::buildJob(LoweringOp workload,
                                            const WorkloadFeatures &features) {
  worker::Job job;
  job.id = workload.getKey().str();
  FunctionType type = workload.getWorkloadType();
  for (auto [index, input] : llvm::enumerate(type.getInputs())) {
    llvm::Expected<worker::Tensor> tensor = toTensor(input);
    if (!tensor)
      return tensor.takeError();
    if (index < features.inputs.size()) {
      const InputFeatures &feature = features.inputs[index];
      tensor->role = toRole(feature);
      tensor->special = feature.special;
      if (feature.indexBound > 0)
        tensor->range = {static_cast<double>(feature.indexLow),
                         static_cast<double>(feature.indexBound - 1)};
      else if (feature.addresses)
        tensor->range = {0.0, 8.0};
      else if (feature.makesDivisors)
        tensor->range = {feature.role == InputRole::Positive ? 1.0 : -8.0, 8.0};
    }
    job.inputs.push_back(std::move(*tensor));
  }
  for (Type output : type.getResults()) {
    llvm::Expected<worker::Tensor> tensor = toTensor(output);
    if (!tensor)
      return tensor.takeError();
    job.outputs.push_back(std::move(*tensor));
  }
  job.kind = toKind(features.kind);
  job.nonFinite = nonFiniteOf(workload.getPattern(), features);
  job.reductionLength = std::max<int64_t>(features.reductionLength, 1);
  return job;
}
