//===- Terms.cpp - Elements of tensors as terms ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Terms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Term;
using families::Terms;

std::optional<double> Term::number64() const {
  auto value = kind == Constant ? dyn_cast<FloatAttr>(attribute) : FloatAttr();
  if (!value)
    return std::nullopt;
  return value.getValueAsDouble();
}

static std::string keyOf(ArrayRef<Lin> index) {
  std::string key;
  for (const Lin &each : index)
    key += each.key() + ",";
  return key;
}

const Term *Terms::fail(const Twine &why) {
  if (failure.empty())
    failure = why.str();
  return nullptr;
}

const Term *Terms::intern(Term term, std::string key) {
  std::unique_ptr<Term> &place = terms[std::move(key)];
  if (!place) {
    term.number = terms.size();
    place = std::make_unique<Term>(std::move(term));
  }
  return place.get();
}

const Term *Terms::constant(Attribute attribute) {
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute)) {
    if (!elements.isSplat())
      return fail("a constant is not the same everywhere");
    attribute = elements.getSplatValue<Attribute>();
  }
  auto typed = dyn_cast<TypedAttr>(attribute);
  if (!typed)
    return fail("a constant is no number");
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    if (!integer.getType().isInteger(1))
      return index(Lin(integer.getValue().getSExtValue()));
  Term term;
  term.kind = Term::Constant;
  term.type = typed.getType();
  term.attribute = attribute;
  std::string key = "constant ";
  llvm::raw_string_ostream(key) << attribute;
  return intern(std::move(term), std::move(key));
}

const Term *Terms::index(const Lin &place) {
  Term term;
  term.kind = Term::Index;
  term.place = place;
  return intern(std::move(term), "index " + place.key());
}

/// The sum or the product of what integers are, where it is linear.
static std::optional<Lin> linearOf(Operation *op,
                                   ArrayRef<const Term *> operands) {
  if (!llvm::all_of(operands,
                    [](const Term *each) { return each->kind == Term::Index; }))
    return std::nullopt;
  // Narrow integers wrap around.
  Type type = op->getResult(0).getType();
  if (!type.isIndex() && type.getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return operands[0]->place;
  if (isa<arith::AddIOp>(op))
    return operands[0]->place + operands[1]->place;
  if (isa<arith::SubIOp>(op))
    return operands[0]->place - operands[1]->place;
  if (isa<arith::MulIOp>(op) && operands[1]->place.terms.empty())
    return operands[0]->place * operands[1]->place.constant;
  return std::nullopt;
}

const Term *Terms::compute(Operation *op, SmallVector<const Term *> operands) {
  if (std::optional<Lin> place = linearOf(op, operands))
    return index(*place);
  Type type = op->getResult(0).getType();
  if (isa<arith::TruncFOp, arith::ExtFOp>(op))
    if (std::optional<double> value = operands[0]->number64())
      return constant(FloatAttr::get(type, *value));
  Term term;
  term.kind = Term::Compute;
  term.type = type;
  term.op = op;
  std::string key = op->getName().getStringRef().str();
  llvm::raw_string_ostream os(key);
  os << " " << op->getPropertiesAsAttribute()
     << op->getDiscardableAttrDictionary() << " " << type;
  for (const Term *each : operands)
    os << " " << each->number;
  term.operands = std::move(operands);
  return intern(std::move(term), std::move(key));
}

const Term *Terms::at(Value tensor, ArrayRef<Lin> index) {
  auto place = std::make_pair(tensor.getAsOpaquePointer(), keyOf(index));
  auto found = known.find(place);
  if (found != known.end())
    return found->second;
  const Term *term = make(tensor, index);
  known[std::move(place)] = term;
  return term;
}

const Term *Terms::make(Value tensor, ArrayRef<Lin> index) {
  if (!failure.empty())
    return nullptr;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    Term term;
    term.kind = Term::Load;
    term.type = cast<ShapedType>(argument.getType()).getElementType();
    term.operand = argument;
    term.place = Scope::linear(tensor, index);
    std::string key = "load " + std::to_string(argument.getArgNumber()) + " " +
                      term.place.key();
    return intern(std::move(term), std::move(key));
  }
  Operation *op = tensor.getDefiningOp();
  if (auto value = dyn_cast<arith::ConstantOp>(op))
    return constant(value.getValue());
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    if (auto value = fill.value().getDefiningOp<arith::ConstantOp>())
      return constant(value.getValue());
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    auto source = reshapeIndex(program, op, index);
    if (!source)
      return fail("a reshape cuts a dimension of the result");
    return at(op->getOperand(0), *source);
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    auto source = sliceIndex(slice, index);
    if (!source)
      return fail("a slice is at no known place");
    return at(slice.getSource(), *source);
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return this->concat(concat, index);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return this->generic(generic, tensor, index);
  return fail("it computes something that is neither elementwise nor a "
              "reduction: " +
              op->getName().getStringRef());
}

/// One of its inputs' elements, as the place along its dimension says.
const Term *Terms::concat(tensor::ConcatOp op, ArrayRef<Lin> index) {
  const uint64_t dim = op.getDim();
  SmallVector<const Term *> operands(1, this->index(index[dim]));
  SmallVector<Lin> source(index);
  for (Value input : op.getInputs()) {
    operands.push_back(at(input, source));
    source[dim] =
        source[dim] - cast<RankedTensorType>(input.getType()).getDimSize(dim);
  }
  if (!failure.empty())
    return nullptr;
  Term term;
  term.kind = Term::Compute;
  term.type = op.getResultType().getElementType();
  term.op = op;
  std::string key = "concat " + std::to_string(dim);
  for (Value input : op.getInputs())
    llvm::raw_string_ostream(key) << " " << input.getType();
  for (const Term *each : operands)
    key += " " + std::to_string(each->number);
  term.operands = std::move(operands);
  return intern(std::move(term), std::move(key));
}

const Term *Terms::generic(linalg::GenericOp op, Value tensor,
                           ArrayRef<Lin> index) {
  unsigned result = cast<OpResult>(tensor).getResultNumber();
  auto loops = loopsAt(op, result, index);
  if (!loops)
    return fail("a result is stored in another order than computed");
  if (isElementwise(op))
    return bodyAt(op, op.getBody()->getTerminator()->getOperand(result),
                  *loops);
  std::optional<Reduction> reduction = matchReduction(tensor);
  if (!reduction)
    return fail("it reduces by something that is no sum or extremum");
  Term term;
  term.kind = Term::Reduce;
  term.type = cast<ShapedType>(tensor.getType()).getElementType();
  term.reduction = *reduction;
  term.reduced = tensor;
  term.loops = *loops;
  std::string key;
  llvm::raw_string_ostream(key)
      << "reduce " << tensor.getAsOpaquePointer() << " " << keyOf(*loops);
  return intern(std::move(term), std::move(key));
}

const Term *Terms::argument(linalg::GenericOp op, BlockArgument argument,
                            ArrayRef<Lin> loops) {
  if (argument.getOwner() != op.getBody())
    return fail("a body uses a value from outside");
  SmallVector<Lin> index;
  for (AffineExpr expr :
       op.getIndexingMapsArray()[argument.getArgNumber()].getResults()) {
    std::optional<Lin> place = evaluateAffine(expr, loops);
    if (!place)
      return fail("an indexing map is not linear");
    index.push_back(*place);
  }
  Value operand = op->getOperand(argument.getArgNumber());
  if (isa<RankedTensorType>(operand.getType()))
    return at(operand, index);
  auto value = operand.getDefiningOp<arith::ConstantOp>();
  return value ? constant(value.getValue())
               : fail("a scalar operand is not constant");
}

const Term *Terms::bodyAt(linalg::GenericOp op, Value value,
                          ArrayRef<Lin> loops) {
  if (!failure.empty())
    return nullptr;
  auto place = std::make_pair(value.getAsOpaquePointer(), keyOf(loops));
  auto found = known.find(place);
  if (found != known.end())
    return found->second;
  const Term *term = nullptr;
  Operation *producer = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    term = this->argument(op, argument, loops);
  } else if (auto constantOp = dyn_cast<arith::ConstantOp>(producer)) {
    term = constant(constantOp.getValue());
  } else if (auto indexOp = dyn_cast<linalg::IndexOp>(producer)) {
    term = index(loops[indexOp.getDim()]);
  } else if (producer->getBlock() != op.getBody() ||
             producer->getNumRegions() != 0 || producer->getNumResults() != 1) {
    term = fail("an op of a body has no term");
  } else {
    SmallVector<const Term *> operands;
    for (Value operand : producer->getOperands())
      operands.push_back(bodyAt(op, operand, loops));
    if (failure.empty())
      term = compute(producer, std::move(operands));
  }
  known[std::move(place)] = term;
  return term;
}

const Term *Terms::startOf(const Term &reduce) {
  linalg::GenericOp op = reduce.reduction.op;
  return argument(
      op,
      op.getBody()->getArgument(op.getNumDpsInputs() + reduce.reduction.result),
      reduce.loops);
}

const Term *families::withoutCasts(const Term *term) {
  while (term && (term->is<arith::ExtFOp>() || term->is<arith::TruncFOp>()))
    term = term->operands[0];
  return term;
}

/// A term and what it is computed from, each once.
static void walk(const Term *term, std::set<const Term *> &seen) {
  if (!term || !seen.insert(term).second)
    return;
  for (const Term *operand : term->operands)
    walk(operand, seen);
}

std::set<const Term *> families::reductionsOf(const Term *term) {
  std::set<const Term *> seen, found;
  walk(term, seen);
  for (const Term *each : seen)
    if (each->kind == Term::Reduce)
      found.insert(each);
  return found;
}

void families::collectVars(const Term *term, llvm::SmallBitVector &vars,
                           std::optional<Term::Kind> kind) {
  std::set<const Term *> seen;
  walk(term, seen);
  for (const Term *each : seen) {
    if (kind && each->kind != *kind)
      continue;
    for (auto [var, coefficient] : each->place.terms)
      if (coefficient != 0) {
        if (var >= vars.size())
          vars.resize(var + 1);
        vars.set(var);
      }
  }
}
