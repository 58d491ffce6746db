//===- LinearForm.cpp - Sums of indices times constants ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/LinearForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fastk;

LinearForm LinearForm::ofConstant(int64_t value, unsigned dims) {
  LinearForm form;
  form.constant = value;
  form.coefficients.assign(dims, 0);
  return form;
}

LinearForm LinearForm::ofDim(unsigned dim, unsigned dims) {
  LinearForm form = ofConstant(0, dims);
  form.coefficients[dim] = 1;
  return form;
}

std::optional<LinearForm> LinearForm::ofExpr(AffineExpr expr, unsigned dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ofDim(dim.getPosition(), dims);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ofConstant(constant.getValue(), dims);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = ofExpr(binary.getLHS(), dims), rhs = ofExpr(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return lhs->plus(*rhs);
  if (expr.getKind() == AffineExprKind::Mul && rhs->isConstant())
    return lhs->scaled(rhs->constant);
  return std::nullopt;
}

std::optional<LinearForm> LinearForm::ofAccess(AffineMap map,
                                               ArrayRef<int64_t> strides) {
  LinearForm address = ofConstant(0, map.getNumDims());
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides)) {
    std::optional<LinearForm> index = ofExpr(expr, map.getNumDims());
    if (!index || ShapedType::isDynamic(stride))
      return std::nullopt;
    address = address.plus(*index, stride);
  }
  return address;
}

bool LinearForm::isConstant() const {
  return llvm::all_of(coefficients, [](int64_t c) { return c == 0; });
}

LinearForm LinearForm::substitute(ArrayRef<LinearForm> forms,
                                  unsigned dims) const {
  LinearForm result = ofConstant(constant, dims);
  for (auto [coefficient, form] : llvm::zip(coefficients, forms))
    if (coefficient)
      result = result.plus(form, coefficient);
  return result;
}

LinearForm LinearForm::plus(const LinearForm &other, int64_t factor) const {
  LinearForm result = *this;
  result.constant += factor * other.constant;
  for (auto [into, from] : llvm::zip(result.coefficients, other.coefficients))
    into += factor * from;
  return result;
}

LinearForm LinearForm::scaled(int64_t factor) const {
  return ofConstant(0, coefficients.size()).plus(*this, factor);
}
