//===- Indices.cpp - Indices as sums of loop variables --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "fastk/Dialect/Linalg/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

Lin Lin::operator+(const Lin &other) const {
  Lin sum = *this;
  sum.constant += other.constant;
  for (auto [var, c] : other.terms) {
    int64_t &mine = sum.terms[var];
    mine += c;
    if (mine == 0)
      sum.terms.erase(var);
  }
  return sum;
}

Lin Lin::operator*(int64_t factor) const {
  Lin product;
  if (factor == 0)
    return product;
  product.constant = constant * factor;
  for (auto [var, c] : terms)
    product.terms[var] = c * factor;
  return product;
}

std::string Lin::key() const {
  std::string text = std::to_string(constant);
  for (auto [var, c] : terms)
    text += "+" + std::to_string(c) + "*v" + std::to_string(var);
  return text;
}

std::string Program::linText(const Lin &lin) const {
  std::string text;
  for (auto [var, c] : lin.terms) {
    if (!text.empty())
      text += " + ";
    text += c == 1 ? vars[var].name : std::to_string(c) + "L*" + vars[var].name;
  }
  if (text.empty())
    return std::to_string(lin.constant) + "L";
  if (lin.constant > 0)
    text += " + " + std::to_string(lin.constant);
  if (lin.constant < 0)
    text += " - " + std::to_string(-lin.constant);
  return text;
}

std::pair<int64_t, int64_t> Program::range(const Lin &lin) const {
  int64_t lo = lin.constant, hi = lin.constant;
  for (auto [var, c] : lin.terms)
    (c > 0 ? hi : lo) += c * (vars[var].extent - 1);
  return {lo, hi};
}

int64_t Program::reserve(int64_t bytes) {
  int64_t offset = workspaceBytes;
  workspaceBytes += (bytes + 63) / 64 * 64;
  return offset;
}

std::string Program::workspacePointer(Elem elem, int64_t offset) {
  return std::string("(") + cTypeOf(elem) + " *)((char *)workspace + " +
         std::to_string(offset) + ")";
}

std::string Program::helper(const std::string &name) {
  helpers.insert(name);
  return "fk_" + name;
}

std::optional<Lin> catalog::evaluateAffine(AffineExpr expr,
                                           ArrayRef<Lin> dims) {
  std::optional<LinearForm> form = LinearForm::ofExpr(expr, dims.size());
  if (!form)
    return std::nullopt;
  Lin lin(form->constant);
  for (auto [dim, coefficient] : llvm::zip_equal(dims, form->coefficients))
    lin = lin + dim * coefficient;
  return lin;
}

std::optional<SmallVector<Lin>>
catalog::delinearize(const Program &program, Lin lin, ArrayRef<int64_t> shape) {
  SmallVector<Lin> result(shape.size());
  int64_t stride = 1;
  for (int64_t extent : shape)
    stride *= extent;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride /= shape[d];
    if (d + 1 == shape.size()) {
      result[d] = lin;
      break;
    }
    if (shape[d] == 1)
      continue;
    Lin quotient, rest;
    for (auto [var, c] : lin.terms) {
      if (c % stride == 0)
        quotient.terms[var] = c / stride;
      else
        rest.terms[var] = c;
    }
    quotient.constant = lin.constant / stride;
    rest.constant = lin.constant % stride;
    auto [lo, hi] = program.range(rest);
    if (lo < 0 || hi >= stride)
      return std::nullopt;
    result[d] = quotient;
    lin = rest;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    auto [lo, hi] = program.range(result[d]);
    if (lo < 0 || hi >= shape[d])
      return std::nullopt;
  }
  return result;
}

std::optional<SmallVector<Lin>> catalog::reshapeIndex(const Program &program,
                                                      Operation *reshape,
                                                      ArrayRef<Lin> index) {
  SmallVector<Lin> source;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
    auto shape = expand.getResultType().getShape();
    for (const auto &group : expand.getReassociationIndices()) {
      Lin sum;
      for (int64_t d : group)
        sum = sum * shape[d] + index[d];
      source.push_back(sum);
    }
    return source;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    auto shape = collapse.getSrcType().getShape();
    source.resize(shape.size());
    auto groups = collapse.getReassociationIndices();
    for (size_t g = 0; g < groups.size(); ++g) {
      SmallVector<int64_t> extents;
      for (int64_t d : groups[g])
        extents.push_back(shape[d]);
      auto parts = delinearize(program, index[g], extents);
      if (!parts)
        return std::nullopt;
      for (size_t i = 0; i < groups[g].size(); ++i)
        source[groups[g][i]] = (*parts)[i];
    }
    return source;
  }
  return std::nullopt;
}

std::optional<SmallVector<Lin>>
catalog::sliceIndex(tensor::ExtractSliceOp slice, ArrayRef<Lin> index) {
  auto offsets = slice.getStaticOffsets(), strides = slice.getStaticStrides();
  if (llvm::any_of(offsets, ShapedType::isDynamic) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return std::nullopt;
  auto dropped = slice.getDroppedDims();
  SmallVector<Lin> source;
  unsigned next = 0;
  for (size_t d = 0; d < offsets.size(); ++d) {
    Lin inner = dropped.test(d) ? Lin(0) : index[next++];
    source.push_back(inner * strides[d] + Lin(offsets[d]));
  }
  return source;
}

std::optional<Lin> catalog::linearIndex(Value value, ArrayRef<Lin> loops) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Lin(*constant);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) ||
      !value.getType().isIndex())
    return std::nullopt;
  auto lhs = linearIndex(op->getOperand(0), loops);
  auto rhs = linearIndex(op->getOperand(1), loops);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *lhs + *rhs;
  if (isa<arith::SubIOp>(op))
    return *lhs - *rhs;
  if (!rhs->terms.empty())
    return std::nullopt;
  return *lhs * rhs->constant;
}

std::optional<SmallVector<Lin>>
catalog::loopsAt(linalg::GenericOp op, unsigned result, ArrayRef<Lin> index) {
  AffineMap map = op.getIndexingMapsArray()[op.getNumDpsInputs() + result];
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<Lin> loops(ranges.size());
  llvm::SmallBitVector known(ranges.size());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (known[dim.getPosition()])
        return std::nullopt;
      known.set(dim.getPosition());
      loops[dim.getPosition()] = index[i];
    } else if (!isa<AffineConstantExpr>(expr)) {
      return std::nullopt;
    }
  }
  auto iterators = op.getIteratorTypesArray();
  for (size_t d = 0; d < ranges.size(); ++d)
    if (!known[d] && iterators[d] == utils::IteratorType::parallel &&
        ranges[d] != 1)
      return std::nullopt;
  return loops;
}
