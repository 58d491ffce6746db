//===- RooflineTensorOps.cpp - Demand through tensor ops ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;

namespace fastk {

void RooflineBuilder::demandReshaped(Value source, const Demand &use,
                                     ArrayRef<SmallVector<int64_t, 2>> groups,
                                     bool expands) {
  auto type = cast<RankedTensorType>(source.getType());
  unsigned dims = type.getRank();
  Demand result = Demand::all(type.getShape());
  SmallVector<std::optional<LinearForm>> forms(use.box.size());
  double usePoints = use.points();
  for (auto [i, group] : llvm::enumerate(groups)) {
    // `many` indexes the larger space, i the smaller.
    if (expands) {
      bool whole =
          llvm::all_of(group, [&](int64_t d) { return use.box[d].isAll(); });
      unsigned real = 0;
      for (int64_t d : group) {
        bool unit = use.box[d].size() == 1;
        real += !unit;
        forms[d] = unit ? std::optional(LinearForm::ofConstant(0, dims))
                        : std::optional<LinearForm>();
      }
      if (real == 1)
        for (int64_t d : group)
          if (use.box[d].size() != 1) {
            forms[d] = LinearForm::ofDim(i, dims);
            if (use.box[d].size() == result.box[i].size())
              result.box[i] = use.box[d];
          }
      if (whole || real <= 1)
        continue;
      LinearForm linear = LinearForm::ofConstant(0, use.box.size());
      int64_t stride = 1;
      for (int64_t d : llvm::reverse(group)) {
        linear.coefficients[d] = stride;
        stride *= use.box[d].size();
      }
      result.box[i] = image(linear, use.box, type.getDimSize(i));
      continue;
    }
    LinearForm form = LinearForm::ofConstant(0, dims);
    int64_t stride = 1;
    for (int64_t d : llvm::reverse(group)) {
      form.coefficients[d] = type.getDimSize(d) == 1 ? 0 : stride;
      stride *= type.getDimSize(d);
    }
    forms[i] = form;
    if (use.box[i].isAll())
      continue;
    for (int64_t d : group)
      result.box[d] = DimSet::none(type.getDimSize(d));
    for (int64_t value : use.box[i].members())
      for (int64_t d : llvm::reverse(group)) {
        result.box[d].insert(value % type.getDimSize(d));
        value /= type.getDimSize(d);
      }
  }
  result.fraction = use.fraction;
  result.certain = use.certain;
  bool exact = true;
  for (const LinearForm &form : use.constraints) {
    SmallVector<LinearForm> into;
    bool linear = true;
    for (auto [d, coefficient] : llvm::enumerate(form.coefficients)) {
      linear &= !coefficient || forms[d].has_value();
      into.push_back(forms[d] ? *forms[d] : LinearForm::ofConstant(0, dims));
    }
    if (linear)
      result.constraints.push_back(form.substitute(into, dims));
    else
      exact = false;
  }
  // A reshape keeps the number of elements; where the shape of the set cannot
  // be kept, its size is.
  double points = result.points();
  if ((!exact || points > usePoints) && points > 0)
    result.fraction *= usePoints / points;
  demand(source, result);
}

/// The demand, of so many points at most.
static Demand scale(Demand demand, double points) {
  double all = demand.points();
  if (all > points && all > 0)
    demand.fraction *= points / all;
  return demand;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

void RooflineBuilder::visitSlice(tensor::ExtractSliceOp slice,
                                 const Demand &use) {
  Demand read = Demand::all(slice.getSourceType().getShape());
  read.certain = use.certain;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  unsigned at = 0;
  for (unsigned d = 0; d < read.box.size(); ++d) {
    int64_t offset = slice.getStaticOffsets()[d];
    int64_t stride = slice.getStaticStrides()[d];
    // A dynamic offset: as many, somewhere.
    if (ShapedType::isDynamic(offset))
      offset = 0;
    if (ShapedType::isDynamic(stride))
      stride = 1;
    DimSet set = DimSet::none(read.box[d].size());
    if (dropped.test(d)) {
      set.insert(offset);
    } else {
      if (use.box[at].isAll() && stride == 1 && offset == 0 &&
          use.box[at].size() == set.size())
        set = DimSet::all(set.size());
      else
        for (int64_t i : use.box[at].members())
          set.insert(offset + stride * i);
      ++at;
    }
    read.box[d] = set;
  }
  demand(slice.getSource(), scale(read, use.points()));
}

/// Inside the slice the source, outside the destination. The overlap with the
/// demand is exact for boxes.
void RooflineBuilder::visitInsertion(tensor::InsertSliceOp insert,
                                     const Demand &use) {
  bool isStatic =
      insert.getStaticOffsets().size() == use.box.size() &&
      llvm::none_of(insert.getStaticOffsets(), ShapedType::isDynamic) &&
      llvm::none_of(insert.getStaticStrides(), ShapedType::isDynamic) &&
      insert.getSourceType().getRank() == insert.getType().getRank();
  if (!isStatic) {
    demand(insert.getSource(),
           scale(Demand::all(shapeOf(insert.getSource())), 1));
    return;
  }
  Demand source = Demand::all(shapeOf(insert.getSource()));
  source.certain = use.certain;
  Demand rest = use;
  SmallVector<unsigned> partial;
  for (unsigned d = 0; d < use.box.size(); ++d) {
    DimSet set = DimSet::none(source.box[d].size());
    DimSet outside = DimSet::none(use.box[d].size());
    int64_t offset = insert.getStaticOffsets()[d];
    int64_t stride = insert.getStaticStrides()[d];
    for (int64_t i : use.box[d].members()) {
      int64_t at = i - offset;
      if (at >= 0 && at % stride == 0 && at / stride < set.size())
        set.insert(at / stride);
      else
        outside.insert(i);
    }
    source.box[d] = set;
    if (outside.count()) {
      partial.push_back(d);
      rest.box[d] = outside;
    }
  }
  if (source.points() > 0)
    demand(insert.getSource(), scale(source, use.points()));
  if (partial.empty())
    return;
  if (partial.size() > 1) {
    // Not a box: its size.
    double left = use.points() - source.points();
    rest = use;
    rest = scale(rest, left);
  }
  if (rest.points() > 0)
    demand(insert.getDest(), rest);
}

void RooflineBuilder::visitConcat(tensor::ConcatOp concat, const Demand &use) {
  unsigned dim = concat.getDim();
  int64_t offset = 0;
  for (Value input : concat.getInputs()) {
    Demand read = use;
    int64_t size = shapeOf(input)[dim];
    DimSet set = use.box[dim].isAll() ? DimSet::all(size) : DimSet::none(size);
    for (int64_t i = 0; !set.isAll() && i < std::min(size, DimSet::kTracked);
         ++i)
      if (use.box[dim].contains(offset + i))
        set.insert(i);
    for (LinearForm &form : read.constraints)
      form.constant += form.coefficients[dim] * offset;
    read.box[dim] = set;
    offset += size;
    if (read.points() > 0)
      demand(input, read);
  }
}

void RooflineBuilder::visitPad(tensor::PadOp pad, const Demand &use) {
  Demand read = use;
  for (unsigned d = 0; d < use.box.size(); ++d) {
    int64_t low = pad.getStaticLow()[d];
    int64_t size = pad.getSourceType().getDimSize(d);
    if (ShapedType::isDynamic(low))
      low = 0;
    DimSet set = use.box[d].isAll() ? DimSet::all(size) : DimSet::none(size);
    for (int64_t i = 0; !set.isAll() && i < std::min(size, DimSet::kTracked);
         ++i)
      if (use.box[d].contains(i + low))
        set.insert(i);
    set.normalize();
    read.box[d] = set;
    for (LinearForm &form : read.constraints)
      form.constant += form.coefficients[d] * low;
  }
  demand(pad.getSource(), read);
}

/// Scalars of the block; an op of tensors that is not known is told.
void RooflineBuilder::visitOther(Operation *op) {
  bool scalar = llvm::none_of(op->getOperandTypes(),
                              [](Type type) { return isa<ShapedType>(type); });
  if (op->hasTrait<OpTrait::ConstantLike>())
    return;
  if (scalar && !op->getNumRegions() &&
      !isa<ShapedType>(op->getResult(0).getType())) {
    for (Value operand : op->getOperands())
      demand(operand, Demand());
    return;
  }
  std::string name = op->getName().getStringRef().str();
  if (!llvm::is_contained(result.unmodelled, name))
    result.unmodelled.push_back(name);
}

void RooflineBuilder::visitTensorOp(Operation *op, const Demand &use) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::EmptyOp>([](Operation *) {})
      .Case([&](tensor::ExpandShapeOp reshape) {
        demandReshaped(reshape.getSrc(), use, reshape.getReassociationIndices(),
                       true);
      })
      .Case([&](tensor::CollapseShapeOp reshape) {
        demandReshaped(reshape.getSrc(), use, reshape.getReassociationIndices(),
                       false);
      })
      .Case([&](tensor::CastOp cast) { demand(cast.getSource(), use); })
      .Case([&](tensor::ExtractSliceOp slice) { visitSlice(slice, use); })
      .Case([&](tensor::InsertSliceOp insert) { visitInsertion(insert, use); })
      .Case([&](tensor::ConcatOp concat) { visitConcat(concat, use); })
      .Case([&](tensor::PadOp pad) { visitPad(pad, use); })
      .Case<tensor::ExtractOp>([&](tensor::ExtractOp extract) {
        Demand one = Demand::all(shapeOf(extract.getTensor()));
        for (DimSet &set : one.box) {
          set = DimSet::none(set.size());
          set.insert(0);
        }
        demand(extract.getTensor(), one);
      })
      .Case([&](tensor::FromElementsOp elements) {
        for (Value value : elements.getElements())
          demand(value, Demand());
      })
      .Case([&](tensor::SplatOp splat) { demand(splat.getInput(), Demand()); })
      .Case<linalg::PackOp, linalg::UnPackOp>([&](Operation *) {
        // A permutation of its elements, padding aside.
        Demand read = Demand::all(shapeOf(op->getOperand(0)));
        read.certain = use.certain;
        demand(op->getOperand(0), scale(read, use.points()));
      })
      .Default([&](Operation *) { visitOther(op); });
}

} // namespace fastk
