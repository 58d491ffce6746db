//===- Contraction.cpp - Workloads with one sum of products ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Contraction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Contraction;
using families::ContractionSide;
using families::OperandPlace;
using families::strideOf;

namespace {
/// Finds the parts of a contraction.
class Matcher {
public:
  Matcher(Block &body, std::string &why) : body(body), why(why) {}

  /// `mayBatch`: the outer loops of one factor alone may be batches.
  std::optional<Contraction> run(bool mayBatch) {
    if (!matchSummedProducts(body, found, why) || !groupVars())
      return std::nullopt;
    place();
    if (mayBatch && !isAddressed())
      for (auto group : {&Contraction::n, &Contraction::m})
        for (size_t count = 1; count < (found.*group).size(); ++count)
          if (std::optional<Contraction> split = splitOff(group, count))
            return split;
    return std::move(found);
  }

private:
  void place() {
    describe(found.a, found.m);
    describe(found.b, found.n);
    Lin linear = Scope::linear(found.result, found.index);
    found.resultBatch = strideOf(found.program, found.batch, linear);
    found.resultM = strideOf(found.program, found.m, linear);
    found.resultN = strideOf(found.program, found.n, linear);
    if (found.mSize == 1)
      found.resultM = llvm::alignTo(found.nSize, 16);
  }

  /// Whether one number for each group says where the result and all lies that
  /// is not computed.
  bool isAddressed() const {
    return found.resultBatch && found.resultM && found.resultN &&
           isAddressed(found.a) && isAddressed(found.b);
  }
  bool isAddressed(const ContractionSide &side) const {
    return side.isPlain || !placeOf(found, side.factor);
  }

  /// With the first `count` loops of the group as batches, which the other
  /// factor does not know. Nothing: that does not say where all lies, either.
  std::optional<Contraction> splitOff(SmallVector<unsigned> Contraction::*group,
                                      size_t count) {
    Contraction whole = found;
    auto &vars = found.*group;
    found.batch.append(vars.begin(), vars.begin() + count);
    llvm::sort(found.batch);
    vars.erase(vars.begin(), vars.begin() + count);
    setSizes();
    ContractionSide &other = group == &Contraction::n ? found.a : found.b;
    other.isShared = whole.batchSize == 1;
    found.a.isPlain = found.b.isPlain = false;
    place();
    if (isAddressed()) {
      found.sizeOfSplit = found.sizeOf(found.*group);
      return std::move(found);
    }
    found = std::move(whole);
    return std::nullopt;
  }

  bool groupVars() {
    found.a.factor = found.lhs;
    found.b.factor = found.rhs;
    found.k = found.summed;
    auto ofA = varsOf(found, found.lhs, why),
         ofB = varsOf(found, found.rhs, why);
    if (!ofA || !ofB)
      return false;
    llvm::SmallBitVector inA = *ofA, inB = *ofB;
    // The columns are what lies next to each other in the result.
    for (unsigned var = found.resultVars; var-- > 0;)
      if (found.program.vars[var].extent > 1 && inA[var] != inB[var]) {
        if (inA[var]) {
          std::swap(found.a, found.b);
          std::swap(inA, inB);
        }
        break;
      }
    for (unsigned var = 0; var < found.resultVars; ++var)
      (inA[var] == inB[var] ? found.batch
       : inA[var]           ? found.m
                            : found.n)
          .push_back(var);
    setSizes();
    return true;
  }

  void setSizes() {
    found.batchSize = found.sizeOf(found.batch);
    found.mSize = found.sizeOf(found.m);
    found.nSize = found.sizeOf(found.n);
    found.kSize = found.sizeOf(found.k);
  }

  void describe(ContractionSide &side, ArrayRef<unsigned> outer) {
    side.elem = found.elemOf(side.factor);
    std::optional<OperandPlace> place = placeOf(found, side.factor);
    if (!place)
      return;
    auto batch = strideOf(found.program, found.batch, place->linear);
    auto rows = strideOf(found.program, outer, place->linear);
    auto k = strideOf(found.program, found.k, place->linear);
    if (!batch || !rows || !k || *batch < 0 || *rows < 0 || *k < 0)
      return;
    // Where there is one row, or one term, its distance to the next is
    // anybody's choice: one that a tensor map can have.
    int64_t rowCount = found.sizeOf(outer), aligned = 16;
    if (rowCount == 1 && *k != 0)
      rows = llvm::alignTo(found.kSize, aligned);
    else if (found.kSize == 1)
      *rows == 1 ? k = llvm::alignTo(rowCount, aligned) : k = 1;
    side.isPlain = true;
    side.input = place->input;
    side.offset = place->linear.constant;
    side.batch = *batch;
    side.outer = *rows;
    side.k = *k;
  }

  Block &body;
  std::string &why;
  Contraction found;
};
} // namespace

std::optional<Contraction> families::matchContraction(Block &body,
                                                      std::string &why) {
  return Matcher(body, why).run(/*mayBatch=*/false);
}

std::optional<Contraction> families::matchBatchedContraction(Block &body,
                                                             std::string &why) {
  return Matcher(body, why).run(/*mayBatch=*/true);
}
