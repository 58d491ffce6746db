//===- Emitter.h - C for the values of a canonical pattern ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heart of the catalog: "the C expression for element (i, j, …) of this
// tensor". A value that lies in a buffer is loaded; a value that does not is
// computed on the spot from its producers, through reshapes, slices, broadcasts
// and elementwise bodies. Prologues and epilogues of any family are made so,
// and a thing that cannot be expressed makes the emission fail: never wrong
// code.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_EMITTER_H
#define FASTK_FAMILIES_EMITTER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fastk {
namespace catalog {

/// Element types of tensors. Floats of 16 bits are computed as F32.
enum class Elem { I1, I8, I16, I32, I64, F16, BF16, F32, F64 };
std::optional<Elem> elemOf(mlir::Type type);
int64_t bytesOf(Elem elem);
bool isFloat(Elem elem);
/// The type that values of `elem` have in registers.
Elem computeElem(Elem elem);
/// "f32": suffix of vector types and helpers.
const char *suffixOf(Elem elem);
const char *cTypeOf(Elem elem);
/// Type of a value in registers. Truth values are 0/-1 in vectors of i32, 0/1
/// in scalars.
std::string registerType(Elem elem, bool vector);

/// An index: a constant and a sum of loop variables times constants.
struct Lin {
  int64_t constant = 0;
  std::map<unsigned, int64_t> terms;

  Lin() = default;
  Lin(int64_t c) : constant(c) {}
  static Lin ofVar(unsigned var, int64_t coefficient = 1) {
    Lin l;
    l.terms[var] = coefficient;
    return l;
  }
  int64_t coefficient(unsigned var) const {
    auto it = terms.find(var);
    return it == terms.end() ? 0 : it->second;
  }
  Lin operator+(const Lin &other) const;
  Lin operator-(const Lin &other) const { return *this + other * -1; }
  Lin operator*(int64_t factor) const;
  bool operator==(const Lin &other) const {
    return constant == other.constant && terms == other.terms;
  }
  std::string key() const;
};

/// A variable of a loop: its spelling in C and its extent (values 0 …
/// extent-1).
struct Var {
  std::string name;
  int64_t extent = 1;
};

/// Where a value lies: element (i, j, …) is at pointer[linear(i, j, …)].
struct Buffer {
  std::string pointer;
  Elem elem = Elem::F32;
};

/// An index that must be in a range, low <= index < high, for an element to be
/// there.
struct Guard {
  Lin index;
  int64_t low = 0, high = 0;

  bool operator==(const Guard &other) const {
    return index == other.index && low == other.low && high == other.high;
  }
};

/// Where a gather reads along one dimension, which its body computes of other
/// elements.
struct ComputedIndex {
  mlir::linalg::GenericOp op;
  /// Of the body, at these loops.
  mlir::Value value;
  llvm::SmallVector<Lin> loops;
  /// Where it is needed.
  llvm::SmallVector<Guard> guards;
  /// Of the dimension.
  int64_t extent = 1;

  bool operator==(const ComputedIndex &other) const {
    return op == other.op && value == other.value && loops == other.loops &&
           guards == other.guards && extent == other.extent;
  }
};

/// A C expression, a name or a literal, and its type.
struct CValue {
  std::string text = "0";
  Elem elem = Elem::F32;
  bool vector = false;
};

enum class CombinerKind {
  Add,
  Mul,
  Max,
  Min,
  MaxNum,
  MinNum,
  And,
  Or,
  MaxS,
  MinS,
  MaxU,
  MinU
};

std::optional<CombinerKind> combinerOf(mlir::Operation *op);
/// Whether it keeps the largest of floats, or the smallest.
bool isFloatMaximum(CombinerKind kind);
bool isFloatExtremum(CombinerKind kind);

/// One result of a generic that reduces with a known combiner.
struct Reduction {
  mlir::linalg::GenericOp op;
  unsigned result = 0;
  CombinerKind kind = CombinerKind::Add;
  /// The value of the body that is combined into the accumulator.
  mlir::Value element;
  llvm::SmallVector<unsigned> parallelDims, reductionDims;
};
std::optional<Reduction> matchReduction(mlir::Value value);

/// True for a generic without reductions whose output map permutes its loops.
bool isElementwise(mlir::linalg::GenericOp op);
/// Looks through expand_shape, collapse_shape and casts that keep the bytes.
mlir::Value stripReshapes(mlir::Value value);
/// State of one C program.
class Program {
public:
  Program(unsigned lanes, unsigned threads) : lanes(lanes), threads(threads) {}

  /// What the text is in. CUDA-C is scalar, and knows bf16; so may C, in which
  /// they are their bits.
  enum class Dialect { C, Cuda };
  Dialect dialect = Dialect::C;
  bool knowsBF16 = false;
  std::optional<Elem> elemOf(mlir::Type type) const {
    if ((dialect == Dialect::Cuda || knowsBF16) && type.isBF16())
      return Elem::BF16;
    return catalog::elemOf(type);
  }

  /// Lanes of a vector of f32; whether they may be masked by registers.
  unsigned lanes;
  bool masksByRegisters = false;
  unsigned threads;
  std::vector<Var> vars;
  std::map<void *, Buffer> buffers;
  /// Text of the function's body.
  std::string body;
  int64_t workspaceBytes = 0;
  /// Why the emission failed; empty when it did not.
  std::string failure;
  unsigned counter = 0;
  /// Divide by what is the same for all lanes by multiplying with its inverse.
  bool reciprocals = false;
  /// Whether there was such a division.
  mutable bool sharedDivisors = false;

  bool fail(const llvm::Twine &why) {
    if (failure.empty())
      failure = why.str();
    return false;
  }
  unsigned newVar(const llvm::Twine &name, int64_t extent) {
    vars.push_back({name.str(), extent});
    return vars.size() - 1;
  }
  std::string fresh(const char *stem) {
    return stem + std::to_string(counter++);
  }
  /// Reserves bytes of the workspace, aligned to 64; the offset.
  int64_t reserve(int64_t bytes);
  /// A C expression for `type` pointer at an offset of the workspace.
  std::string workspacePointer(Elem elem, int64_t offset);
  /// Notes that the helper is used; returns its name.
  std::string helper(const std::string &name);
  const std::set<std::string> &usedHelpers() const { return helpers; }
  std::string linText(const Lin &lin) const;
  /// Largest and smallest value of an index.
  std::pair<int64_t, int64_t> range(const Lin &lin) const;

private:
  std::set<std::string> helpers;
};

/// Variables that were merged into one, outermost first.
struct MergedVars {
  llvm::SmallVector<unsigned> parts;
  unsigned merged = 0;
  /// Where there are any, the one is the sum of `begin` and of each part times
  /// its step: where windows meet what they move over.
  llvm::SmallVector<int64_t> steps = {};
  int64_t begin = 0;
};

/// A straight-line piece of C in which values are computed once.
class Scope {
  using Memo = std::map<void *, CValue>;

public:
  Scope(Program &program, std::string &out, unsigned indent)
      : program(program), out(out), indent(indent) {}

  /// The variable whose consecutive values fill the lanes; none is scalar code.
  std::optional<unsigned> vectorVar;
  /// How far apart in it lanes are.
  int64_t laneStep = 1;
  /// Number of lanes that are valid; empty for all of them.
  std::string partial;
  std::vector<MergedVars> merged;
  /// Elements of pads and concatenations are chosen by their index, and loads
  /// are under their guards: nothing beyond a tensor is read. Whoever sets
  /// `loaded`, too, heeds these there.
  bool choosesPieces = false;
  /// A product is rounded before anything is added to it. For values that are
  /// computed more than once and must be the same each time, as what a maximum
  /// is taken of and subtracted from.
  bool roundsProducts = false;
  /// Values that are already at hand, whatever the index.
  std::map<void *, CValue> bound;

  /// Called for a reduction or another value that no expression can compute.
  std::function<CValue(Scope &, mlir::Value, llvm::ArrayRef<Lin>)> onOpaque;
  /// An element that is at hand already, instead of a load of it.
  std::function<std::optional<CValue>(const Buffer &, const Lin &)> loaded;
  /// An index that is computed, as a variable of the program whose value is
  /// in range. Without it nothing is gathered.
  std::function<std::optional<Lin>(Scope &, const ComputedIndex &)>
      onComputedIndex;
  /// Told of each load and of each store.
  std::function<void(const Buffer &, const Lin &)> onLoad, onStore;
  /// Told of each tensor whose element is asked for, and where.
  std::function<void(mlir::Value, llvm::ArrayRef<Lin>)> onElement;
  /// Told of each index whose value is used, guards' among them.
  std::function<void(const Lin &)> onIndex;
  /// Told of each elementwise value that is computed.
  std::function<void(mlir::Value, llvm::ArrayRef<Lin>, const CValue &)>
      onComputed;

  CValue at(mlir::Value value, llvm::ArrayRef<Lin> index);
  /// The combined value of a reduction at its loops.
  CValue reductionElement(const Reduction &reduction,
                          llvm::ArrayRef<Lin> loops);
  /// A value of the body of a generic at its loops.
  CValue bodyAt(mlir::linalg::GenericOp op, mlir::Value value,
                llvm::ArrayRef<Lin> loops) {
    Memo local;
    return bodyValue(op, value, loops, local);
  }
  /// What a gather computes, in a scope of its own.
  CValue valueOf(const ComputedIndex &index);
  CValue load(const Buffer &buffer, const Lin &linear);
  void store(const Buffer &buffer, const Lin &linear, CValue value,
             bool nonTemporal = false);
  CValue combine(CombinerKind kind, const CValue &a, const CValue &b);
  /// One lane out of all.
  CValue horizontal(CombinerKind kind, const CValue &v);
  CValue splat(const CValue &value);
  CValue convert(const CValue &value, Elem elem);
  /// The linear address of an element of a row-major tensor.
  static Lin linear(mlir::Value value, llvm::ArrayRef<Lin> index);
  /// Writes a line.
  void line(const llvm::Twine &text);
  /// What holds wherever the element that is being computed is needed, in
  /// merged variables.
  llvm::SmallVector<Guard> mergedGuards();
  /// The text of what a guard says; empty: it always holds.
  std::string guardText(const Guard &guard);
  /// Declares a constant and returns it.
  CValue define(Elem elem, bool vector, const llvm::Twine &expression);
  std::string neutral(CombinerKind kind, Elem elem);

private:
  CValue bodyValue(mlir::linalg::GenericOp op, mlir::Value value,
                   llvm::ArrayRef<Lin> loops, Memo &memo);
  /// Where a tensor.extract of a body reads, if that is linear in its loops.
  std::optional<llvm::SmallVector<Lin>>
  extractedPlace(mlir::Operation *op, llvm::ArrayRef<Lin> loops) const;
  /// The element of a tensor, where that is needed only where guards hold.
  CValue atWithin(llvm::ArrayRef<Guard> within, mlir::Value value,
                  llvm::ArrayRef<Lin> index);
  /// What must hold for an element that is loaded to be there; empty: nothing.
  std::string loadCondition();
  std::string shuffledLoad(const Buffer &buffer, const std::string &address,
                           int64_t stride);
  /// One of two, by a condition that all lanes share.
  CValue chosen(const std::string &where, const CValue &yes, const CValue &no);
  /// Whether a guard holds nowhere in the range of merged variables.
  bool isNowhere(const Guard &guard);
  CValue concatenated(mlir::Operation *concat, llvm::ArrayRef<Lin> index);
  CValue padded(mlir::Operation *pad, llvm::ArrayRef<Lin> index);
  /// An element of a tensor at an index that a body computes.
  CValue extracted(mlir::linalg::GenericOp op, mlir::tensor::ExtractOp extract,
                   llvm::ArrayRef<Lin> loops);
  /// An op of a body, with its operands as text.
  struct BodyOp {
    mlir::Operation *op;
    llvm::ArrayRef<CValue> in;
    /// Of the result, as it is computed.
    Elem elem;
    bool truth, vector;
  };
  CValue scalarOp(mlir::Operation *op, llvm::ArrayRef<CValue> operands);
  /// Each of one kind of op; nothing for the others.
  std::optional<CValue> floatOp(const BodyOp &o);
  std::optional<CValue> integerOp(const BodyOp &o);
  std::optional<CValue> choiceOp(const BodyOp &o);
  std::optional<CValue> conversionOp(const BodyOp &o);
  std::optional<CValue> mathFunction(const BodyOp &o);
  std::optional<CValue> numberFunction(const BodyOp &o);
  std::string arg(const BodyOp &o, unsigned i);
  CValue infix(const BodyOp &o, const char *symbol);
  CValue product(const BodyOp &o, const std::string &a, const std::string &b);
  CValue power(const BodyOp &o, int64_t exponent);
  std::optional<CValue> inexactQuotient(const BodyOp &o);
  CValue call1(const BodyOp &o, const char *vectorName, const char *libm);
  CValue builtin(const BodyOp &o, const char *name, const char *libm);
  CValue compareFloats(mlir::arith::CmpFPredicate predicate, CValue a,
                       CValue b);
  CValue mapCall(const char *name, Elem elem, llvm::ArrayRef<CValue> operands);
  CValue literal(mlir::Attribute attribute, mlir::Type type);
  CValue indexValue(const Lin &index);
  CValue unify(const CValue &value, bool vector);
  CValue opaque(mlir::Value value, llvm::ArrayRef<Lin> index);
  Lin mergeVars(const Lin &lin);
  void mergeSteps(const MergedVars &group, Lin &lin);

  Program &program;
  std::string &out;
  unsigned indent;
  /// In the variables of the index space.
  llvm::SmallVector<Guard> guards;
  std::map<std::pair<void *, std::string>, CValue> memo;
};

/// Evaluates an affine expression on loops; nullopt when it is not linear.
std::optional<Lin> evaluateAffine(mlir::AffineExpr expr,
                                  llvm::ArrayRef<Lin> dims);
/// Splits a linear index over dimensions; nullopt when a part is not provably
/// inside its dimension.
std::optional<llvm::SmallVector<Lin>>
delinearize(const Program &program, Lin lin, llvm::ArrayRef<int64_t> shape);
/// Index of a source of a reshape; nullopt when it is not linear.
std::optional<llvm::SmallVector<Lin>> reshapeIndex(const Program &program,
                                                   mlir::Operation *reshape,
                                                   llvm::ArrayRef<Lin> index);
/// Index of the source of a slice; nullopt when it is at no known place.
std::optional<llvm::SmallVector<Lin>>
sliceIndex(mlir::tensor::ExtractSliceOp slice, llvm::ArrayRef<Lin> index);
/// An index that a body computes of its loops; nullopt when it is not linear.
std::optional<Lin> linearIndex(mlir::Value value, llvm::ArrayRef<Lin> loops);
/// Loops of a generic at an index of one of its results.
std::optional<llvm::SmallVector<Lin>>
loopsAt(mlir::linalg::GenericOp op, unsigned result, llvm::ArrayRef<Lin> index);

/// True when computing an element of the value (with its elementwise producers)
/// calls exp, erf, tanh and the like.
bool isExpensive(mlir::Operation *op);

/// The exponent of a power that is a few products, and one division where it is
/// negative: a constant that is whole, of -8 to 8 for math.fpowi; for math.powf
/// of -2 (of f64: -1) to 4, where products are as exact as the library's
/// function. nullopt for other ops.
std::optional<int64_t> smallExponent(mlir::Operation *op);

/// Includes, vector types and the helpers that are used, in front of the code.
std::string preamble(const Program &program);

} // namespace catalog
} // namespace fastk

#endif // FASTK_FAMILIES_EMITTER_H
