//===- Contraction.cpp - Workloads with one sum of products ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Contraction.h"
#include "CoreOperands.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Contraction;
using families::ContractionSide;
using families::floatResultOf;
using families::nameOperands;

/// Whether the tensor's elements are those of an operand, moved at most.
static bool isMoved(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return true;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp>(op))
    return isMoved(op->getOperand(0));
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isElementwise(generic) || generic.getNumDpsInputs() != 1)
    return false;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  unsigned result = cast<OpResult>(tensor).getResultNumber();
  return yield.getOperand(result) == generic.getBody()->getArgument(0) &&
         isMoved(generic->getOperand(0));
}

/// Inputs of `op` that a value of its body is computed from. False: something
/// else, too.
static bool collectInputs(linalg::GenericOp op, Value value,
                          SmallVectorImpl<unsigned> &inputs) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody() ||
        argument.getArgNumber() >= op.getNumDpsInputs())
      return false;
    inputs.push_back(argument.getArgNumber());
    return true;
  }
  Operation *producer = value.getDefiningOp();
  return producer->getBlock() != op.getBody() ||
         llvm::all_of(producer->getOperands(), [&](Value operand) {
           return collectInputs(op, operand, inputs);
         });
}

/// How far one step of a group, walked as one index, moves by `linear`; nothing
/// where that differs from step to step.
static std::optional<int64_t>
strideOf(const Program &program, ArrayRef<unsigned> group, const Lin &linear) {
  std::optional<int64_t> stride;
  int64_t expected = 0;
  for (unsigned var : llvm::reverse(group)) {
    int64_t extent = program.vars[var].extent;
    if (extent == 1)
      continue;
    int64_t coefficient = linear.coefficient(var);
    if (!stride)
      stride = coefficient;
    else if (coefficient != expected)
      return std::nullopt;
    expected = coefficient * extent;
  }
  return stride.value_or(0);
}

namespace {
/// Finds the parts of a contraction.
class Matcher {
public:
  Matcher(Block &body, std::string &why) : body(body), why(why) {}

  std::optional<Contraction> run() {
    if (!findOp() || !nameOperands(body, found.program, why) || !placeLoops() ||
        !groupVars())
      return std::nullopt;
    describe(found.a, found.m);
    describe(found.b, found.n);
    Lin linear = Scope::linear(found.result, found.index);
    found.resultBatch = strideOf(found.program, found.batch, linear);
    found.resultM = strideOf(found.program, found.m, linear);
    found.resultN = strideOf(found.program, found.n, linear);
    if (found.mSize == 1)
      found.resultM = llvm::alignTo(found.nSize, 16);
    return std::move(found);
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }

  bool findOp() {
    found.result = floatResultOf(body, found.program, why);
    if (!found.result)
      return false;
    found.resultElem =
        *found.program.elemOf(getElementTypeOrSelf(found.result.getType()));
    for (auto op : body.getOps<linalg::GenericOp>()) {
      if (op.getNumReductionLoops() == 0)
        continue;
      if (found.op)
        return fail("it reduces more than once");
      found.op = op;
    }
    if (!found.op)
      return fail("it reduces nothing");
    std::optional<SumOfProducts> sum = matchSumOfProducts(found.op);
    if (found.op->getNumResults() != 1 || !sum)
      return fail("what it reduces is no sum of products");
    auto narrow = [](Value value) {
      while (auto wide = value.getDefiningOp<arith::ExtFOp>())
        value = wide.getIn();
      return value;
    };
    found.a.factor = narrow(sum->lhs);
    found.b.factor = narrow(sum->rhs);
    return true;
  }

  /// Variables for the result's dimensions and for what is summed; from these
  /// the op's loops, as the result's elements demand them.
  bool placeLoops() {
    Program &program = found.program;
    for (auto [d, extent] : llvm::enumerate(
             cast<RankedTensorType>(found.result.getType()).getShape())) {
      if (extent == 0)
        return fail("its result has no elements");
      found.index.push_back(Lin::ofVar(program.newVar("r" + Twine(d), extent)));
    }
    resultVars = program.vars.size();
    std::string text;
    Scope scope(program, text, 0);
    unsigned demands = 0;
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      if (value != found.op->getResult(0)) {
        program.fail("what surrounds it is not elementwise");
        return {};
      }
      auto loops = loopsAt(found.op, 0, index);
      if (!loops) {
        program.fail("its sums are stored in another order than computed");
        return {};
      }
      if (demands++ && *loops != found.loops)
        program.fail("an element of the result needs several sums");
      found.loops = *loops;
      return {"acc", Elem::F32, false};
    };
    scope.at(found.result, found.index);
    if (!program.failure.empty())
      return fail(program.failure);
    if (demands == 0)
      return fail("its result does not depend on what it reduces");
    auto ranges = found.op.getStaticLoopRanges();
    auto iterators = found.op.getIteratorTypesArray();
    for (auto [d, range] : llvm::enumerate(ranges)) {
      if (range == 0)
        return fail("it sums nothing");
      if (iterators[d] != utils::IteratorType::reduction)
        continue;
      unsigned var = program.newVar("k" + Twine(d), range);
      found.loops[d] = Lin::ofVar(var);
      found.k.push_back(var);
    }
    // Each sum is one element of the result, and the other way round.
    int64_t sums = 1, elements = 1;
    for (auto [d, range] : llvm::enumerate(ranges))
      if (iterators[d] != utils::IteratorType::reduction)
        sums *= range;
    for (unsigned var = 0; var < resultVars; ++var)
      elements *= program.vars[var].extent;
    if (sums != elements)
      return fail("its result has " + Twine(elements) + " elements, of " +
                  Twine(sums) + " sums");
    return true;
  }

  /// Variables that a factor moves with.
  bool varsOf(const ContractionSide &side, llvm::SmallBitVector &vars) {
    SmallVector<unsigned> inputs;
    if (!collectInputs(found.op, side.factor, inputs))
      return fail("a factor depends on a sum");
    vars.resize(found.program.vars.size());
    for (unsigned input : inputs)
      for (AffineExpr expr :
           found.op.getIndexingMapsArray()[input].getResults()) {
        std::optional<Lin> lin = evaluateAffine(expr, found.loops);
        if (!lin)
          return fail("an indexing map is not linear");
        for (auto [var, coefficient] : lin->terms)
          if (coefficient != 0)
            vars.set(var);
      }
    return true;
  }

  bool groupVars() {
    llvm::SmallBitVector inA, inB;
    if (!varsOf(found.a, inA) || !varsOf(found.b, inB))
      return false;
    // The columns are what lies next to each other in the result.
    for (unsigned var = resultVars; var-- > 0;)
      if (found.program.vars[var].extent > 1 && inA[var] != inB[var]) {
        if (inA[var]) {
          std::swap(found.a, found.b);
          std::swap(inA, inB);
        }
        break;
      }
    for (unsigned var = 0; var < resultVars; ++var)
      (inA[var] == inB[var] ? found.batch
       : inA[var]           ? found.m
                            : found.n)
          .push_back(var);
    found.batchSize = sizeOf(found.batch);
    found.mSize = sizeOf(found.m);
    found.nSize = sizeOf(found.n);
    found.kSize = sizeOf(found.k);
    return true;
  }

  int64_t sizeOf(ArrayRef<unsigned> group) const {
    int64_t size = 1;
    for (unsigned var : group)
      size *= found.program.vars[var].extent;
    return size;
  }

  void describe(ContractionSide &side, ArrayRef<unsigned> outer) {
    side.elem = found.program.elemOf(side.factor.getType()).value_or(Elem::F32);
    auto argument = dyn_cast<BlockArgument>(side.factor);
    if (!argument || !isMoved(found.op->getOperand(argument.getArgNumber())))
      return;
    Program scratch = found.program;
    std::string text;
    Scope scope(scratch, text, 0);
    std::optional<Lin> linear;
    StringRef pointer;
    scope.onLoad = [&](const Buffer &buffer, const Lin &lin) {
      linear = lin;
      pointer = buffer.pointer;
    };
    scope.bodyAt(found.op, side.factor, found.loops);
    if (!scratch.failure.empty() || !linear)
      return;
    auto batch = strideOf(scratch, found.batch, *linear);
    auto rows = strideOf(scratch, outer, *linear);
    auto k = strideOf(scratch, found.k, *linear);
    if (!batch || !rows || !k || *batch < 0 || *rows < 0 || *k < 0)
      return;
    // Where there is one row, or one term, its distance to the next is
    // anybody's choice: one that a tensor map can have.
    int64_t rowCount = sizeOf(outer), aligned = 16;
    if (rowCount == 1 && *k != 0)
      rows = llvm::alignTo(found.kSize, aligned);
    else if (found.kSize == 1)
      *rows == 1 ? k = llvm::alignTo(rowCount, aligned) : k = 1;
    side.isPlain = true;
    pointer.drop_front(2).getAsInteger(10, side.input);
    side.offset = linear->constant;
    side.batch = *batch;
    side.outer = *rows;
    side.k = *k;
  }

  Block &body;
  std::string &why;
  unsigned resultVars = 0;
  Contraction found = [] {
    Contraction contraction;
    contraction.program.dialect = Program::Dialect::Cuda;
    return contraction;
  }();
};
} // namespace

std::optional<Contraction> families::matchContraction(Block &body,
                                                      std::string &why) {
  return Matcher(body, why).run();
}
