//===- Interpreter.cpp - Patterns evaluated in double ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"

#include "fastk/Dialect/Linalg/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>

using namespace mlir;
using namespace fastk::test;
using llvm::SmallVector;

namespace {
class Machine {
public:
  explicit Machine(std::string &error) : error(error) {}
  llvm::DenseMap<Value, Array> tensors;
  std::string &error;

  double constant(Attribute attribute) {
    if (auto f = dyn_cast<FloatAttr>(attribute))
      return f.getValueAsDouble();
    if (auto i = dyn_cast<IntegerAttr>(attribute))
      return i.getType().isInteger(1) ? double(!i.getValue().isZero())
                                      : double(i.getValue().getSExtValue());
    error = "constant";
    return 0;
  }

  double scalar(Operation *op, llvm::ArrayRef<double> v) {
    double a = v.empty() ? 0 : v[0], b = v.size() < 2 ? 0 : v[1];
    if (isa<arith::AddFOp, arith::AddIOp>(op))
      return a + b;
    if (isa<arith::SubFOp, arith::SubIOp>(op))
      return a - b;
    if (isa<arith::MulFOp, arith::MulIOp>(op))
      return a * b;
    if (isa<arith::DivFOp>(op))
      return a / b;
    if (isa<arith::NegFOp>(op))
      return -a;
    if (isa<arith::MaximumFOp>(op))
      return a != a ? a : b != b ? b : std::max(a, b);
    if (isa<arith::MinimumFOp>(op))
      return a != a ? a : b != b ? b : std::min(a, b);
    if (isa<arith::MaxNumFOp>(op))
      return std::fmax(a, b);
    if (isa<arith::MinNumFOp>(op))
      return std::fmin(a, b);
    if (isa<arith::MaxSIOp>(op))
      return std::max(a, b);
    if (isa<arith::MinSIOp>(op))
      return std::min(a, b);
    if (isa<arith::AndIOp>(op))
      return double(int64_t(a) & int64_t(b));
    if (isa<arith::OrIOp>(op))
      return double(int64_t(a) | int64_t(b));
    if (isa<arith::XOrIOp>(op))
      return double(int64_t(a) ^ int64_t(b));
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp,
            arith::TruncIOp>(op))
      return a;
    if (isa<arith::FPToSIOp>(op))
      return std::trunc(a);
    if (isa<arith::SelectOp>(op))
      return a != 0 ? b : v[2];
    if (auto cmp = dyn_cast<arith::CmpFOp>(op)) {
      bool unordered = a != a || b != b;
      switch (cmp.getPredicate()) {
      case arith::CmpFPredicate::OEQ:
        return a == b;
      case arith::CmpFPredicate::OGT:
        return a > b;
      case arith::CmpFPredicate::OGE:
        return a >= b;
      case arith::CmpFPredicate::OLT:
        return a < b;
      case arith::CmpFPredicate::OLE:
        return a <= b;
      case arith::CmpFPredicate::ONE:
        return !unordered && a != b;
      case arith::CmpFPredicate::ORD:
        return !unordered;
      case arith::CmpFPredicate::UEQ:
        return unordered || a == b;
      case arith::CmpFPredicate::UGT:
        return unordered || a > b;
      case arith::CmpFPredicate::UGE:
        return unordered || a >= b;
      case arith::CmpFPredicate::ULT:
        return unordered || a < b;
      case arith::CmpFPredicate::ULE:
        return unordered || a <= b;
      case arith::CmpFPredicate::UNE:
        return unordered || a != b;
      case arith::CmpFPredicate::UNO:
        return unordered;
      case arith::CmpFPredicate::AlwaysTrue:
        return 1;
      case arith::CmpFPredicate::AlwaysFalse:
        return 0;
      }
    }
    if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
      switch (cmp.getPredicate()) {
      case arith::CmpIPredicate::eq:
        return a == b;
      case arith::CmpIPredicate::ne:
        return a != b;
      case arith::CmpIPredicate::slt:
        return a < b;
      case arith::CmpIPredicate::sle:
        return a <= b;
      case arith::CmpIPredicate::sgt:
        return a > b;
      case arith::CmpIPredicate::sge:
        return a >= b;
      default:
        break;
      }
    }
    if (isa<math::ExpOp>(op))
      return std::exp(a);
    if (isa<math::ErfOp>(op))
      return std::erf(a);
    if (isa<math::TanhOp>(op))
      return std::tanh(a);
    if (isa<math::LogOp>(op))
      return std::log(a);
    if (isa<math::SqrtOp>(op))
      return std::sqrt(a);
    if (isa<math::RsqrtOp>(op))
      return 1 / std::sqrt(a);
    if (isa<math::AbsFOp>(op))
      return std::fabs(a);
    if (isa<math::FPowIOp, math::PowFOp>(op))
      return std::pow(a, b);
    if (isa<math::SinOp>(op))
      return std::sin(a);
    if (isa<math::FloorOp>(op))
      return std::floor(a);
    error = op->getName().getStringRef().str();
    return 0;
  }

  /// A scalar of a body: what computes it, and the places of its operands among
  /// the body's values.
  struct Step {
    Operation *op;
    SmallVector<size_t> operands;
    size_t result;
  };

  /// The places of a body's values, and the steps that compute what is neither
  /// an argument nor constant.
  struct Body {
    llvm::DenseMap<Value, size_t> places;
    std::vector<double> values;
    std::vector<Step> steps;
    SmallVector<size_t> yielded;

    size_t add(Value value, double start) {
      places[value] = values.size();
      values.push_back(start);
      return values.size() - 1;
    }
  };

  Body read(linalg::GenericOp op) {
    Body body;
    for (Value argument : op.getBody()->getArguments())
      body.add(argument, 0);
    auto place = [&](Value value) {
      auto it = body.places.find(value);
      if (it != body.places.end())
        return it->second;
      auto c = value.getDefiningOp<arith::ConstantOp>();
      if (!c)
        error = "value from outside of a body";
      return body.add(value, c ? constant(c.getValue()) : 0);
    };
    for (Operation &def : op.getBody()->without_terminator()) {
      if (isa<arith::ConstantOp>(def)) {
        place(def.getResult(0));
        continue;
      }
      Step step{&def, {}, 0};
      // What is extracted from is a tensor, and no value of the body.
      auto extract = dyn_cast<tensor::ExtractOp>(def);
      for (Value v : extract ? ValueRange(extract.getIndices())
                             : ValueRange(def.getOperands()))
        step.operands.push_back(place(v));
      step.result = body.add(def.getResult(0), 0);
      body.steps.push_back(std::move(step));
    }
    for (Value v : op.getBody()->getTerminator()->getOperands())
      body.yielded.push_back(place(v));
    return body;
  }

  /// Where an operand's element is, by the loops.
  struct Address {
    AffineMap map;
    SmallVector<int64_t> strides;
    /// Nothing with floordiv and mod: the map itself is asked then.
    std::optional<fastk::LinearForm> linear;

    Address(AffineMap map, llvm::ArrayRef<int64_t> sizes)
        : map(map), strides(computeStrides(sizes)),
          linear(fastk::LinearForm::ofAccess(map, strides)) {}

    int64_t operator()(llvm::ArrayRef<int64_t> loops) const {
      if (linear)
        return linear->constant + dot(linear->coefficients, loops);
      return dot(strides, map.compose(loops));
    }

    static int64_t dot(llvm::ArrayRef<int64_t> factors,
                       llvm::ArrayRef<int64_t> indices) {
      int64_t sum = 0;
      for (auto [factor, index] : llvm::zip_equal(factors, indices))
        sum += factor * index;
      return sum;
    }
  };

  void generic(linalg::GenericOp op) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    auto maps = op.getIndexingMapsArray();
    unsigned inputs = op.getNumDpsInputs();
    // Below are pointers into the map: nothing is added to it from here on.
    for (Value v : op->getOperands())
      tensors.try_emplace(v);
    std::vector<Array> outs;
    for (Value init : op.getDpsInits())
      outs.push_back(tensors[init]);
    std::vector<const Array *> arrays;
    for (Value v : op.getDpsInputs())
      arrays.push_back(&tensors[v]);
    for (const Array &out : outs)
      arrays.push_back(&out);
    std::vector<Address> addresses;
    for (auto [map, array] : llvm::zip_equal(maps, arrays))
      addresses.emplace_back(map, array->shape);
    Body body = read(op);

    SmallVector<int64_t> loops(ranges.size(), 0), at(arrays.size(), 0);
    SmallVector<double> operands;
    int64_t total = 1;
    for (int64_t r : ranges)
      total *= r;
    for (int64_t flat = 0; flat < total; ++flat) {
      int64_t rest = flat;
      for (size_t d = ranges.size(); d-- > 0;) {
        loops[d] = rest % ranges[d];
        rest /= ranges[d];
      }
      for (size_t i = 0; i < arrays.size(); ++i) {
        at[i] = addresses[i](loops);
        // An input without data is one that only gives its shape.
        body.values[i] = arrays[i]->data.empty() ? 0 : arrays[i]->data[at[i]];
      }
      for (const Step &step : body.steps) {
        if (auto i = dyn_cast<linalg::IndexOp>(step.op)) {
          body.values[step.result] = double(loops[i.getDim()]);
          continue;
        }
        operands.clear();
        for (size_t place : step.operands)
          operands.push_back(body.values[place]);
        auto extract = dyn_cast<tensor::ExtractOp>(step.op);
        body.values[step.result] =
            extract ? element(tensors.at(extract.getTensor()), operands)
                    : scalar(step.op, operands);
      }
      for (size_t o = 0; o < outs.size(); ++o)
        outs[o].data[at[inputs + o]] = body.values[body.yielded[o]];
    }
    for (size_t o = 0; o < outs.size(); ++o)
      tensors[op.getResult(o)] = outs[o];
  }

  static double element(const Array &array, llvm::ArrayRef<double> index) {
    int64_t at = 0;
    for (auto [extent, place] : llvm::zip_equal(array.shape, index))
      at = at * extent + int64_t(place);
    return array.data[at];
  }

  static Array make(Type type, double fill) {
    Array a;
    auto tensor = cast<RankedTensorType>(type);
    a.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    a.data.assign(tensor.getNumElements(), fill);
    return a;
  }

  /// Copies `from` into `to` at offsets.
  static void place(const Array &from, Array &to,
                    llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> strides, bool gather) {
    const std::vector<int64_t> &shape = gather ? to.shape : from.shape;
    const std::vector<int64_t> &big = gather ? from.shape : to.shape;
    int64_t total = 1;
    for (int64_t s : shape)
      total *= s;
    for (int64_t flat = 0; flat < total; ++flat) {
      int64_t rest = flat, at = 0, stride = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        at += (offsets[d] + rest % shape[d] * strides[d]) * stride;
        rest /= shape[d];
        stride *= big[d];
      }
      if (gather)
        to.data[flat] = from.data[at];
      else
        to.data[at] = from.data[flat];
    }
  }

  void run(Operation &op) {
    SmallVector<int64_t> ones;
    if (op.getNumResults() == 1)
      if (auto t = dyn_cast<RankedTensorType>(op.getResult(0).getType()))
        ones.assign(t.getRank(), 1);
    if (auto g = dyn_cast<linalg::GenericOp>(op)) {
      generic(g);
    } else if (auto f = dyn_cast<linalg::FillOp>(op)) {
      auto c = f.value().getDefiningOp<arith::ConstantOp>();
      tensors[f.getResult(0)] =
          make(f.getResult(0).getType(), constant(c.getValue()));
    } else if (isa<tensor::EmptyOp>(op)) {
      tensors[op.getResult(0)] = make(op.getResult(0).getType(), NAN);
    } else if (auto c = dyn_cast<arith::ConstantOp>(op)) {
      if (auto dense = dyn_cast<DenseElementsAttr>(c.getValue()))
        tensors[c.getResult()] =
            make(c.getType(), constant(dense.getSplatValue<Attribute>()));
      else
        tensors[c.getResult()] = Array{{}, {constant(c.getValue())}};
    } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      Array a = tensors[op.getOperand(0)];
      a.shape = make(op.getResult(0).getType(), 0).shape;
      tensors[op.getResult(0)] = a;
    } else if (auto p = dyn_cast<tensor::PadOp>(op)) {
      auto c = p.getConstantPaddingValue().getDefiningOp<arith::ConstantOp>();
      Array a = make(p.getType(), constant(c.getValue()));
      place(tensors[p.getSource()], a, p.getStaticLow(), ones, false);
      tensors[p.getResult()] = a;
    } else if (auto s = dyn_cast<tensor::ExtractSliceOp>(op)) {
      Array a = make(s.getType(), 0);
      place(tensors[s.getSource()], a, s.getStaticOffsets(),
            s.getStaticStrides(), true);
      tensors[s.getResult()] = a;
    } else if (auto s = dyn_cast<tensor::InsertSliceOp>(op)) {
      Array a = tensors[s.getDest()];
      place(tensors[s.getSource()], a, s.getStaticOffsets(),
            s.getStaticStrides(), false);
      tensors[s.getResult()] = a;
    } else if (auto c = dyn_cast<tensor::ConcatOp>(op)) {
      Array a = make(c.getType(), 0);
      SmallVector<int64_t> offsets(ones.size(), 0);
      for (Value v : c.getInputs()) {
        place(tensors[v], a, offsets, ones, false);
        offsets[c.getDim()] += tensors[v].shape[c.getDim()];
      }
      tensors[c.getResult()] = a;
    } else {
      error = op.getName().getStringRef().str();
    }
  }
};
} // namespace

std::vector<Array> fastk::test::interpret(Block &block,
                                          std::vector<Array> arguments,
                                          std::string &error) {
  Machine machine(error);
  for (auto [arg, array] : llvm::zip(block.getArguments(), arguments))
    machine.tensors[arg] = array;
  for (Operation &op : block.without_terminator())
    machine.run(op);
  std::vector<Array> results;
  for (Value v : block.getTerminator()->getOperands())
    results.push_back(machine.tensors[v]);
  return results;
}
