//===- WorkloadKind.h - What a workload is, for people ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A readable name, a kind and the dimensions of a workload, by structural
// matching. Used for display, prompts, input distributions and the catalog's
// choice of ideas; never for correctness: two workloads with equal features may
// compute different things.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_WORKLOADKIND_H
#define FASTK_ANALYSIS_WORKLOADKIND_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fastk {

/// The kind of a workload that holds several is the first of this order:
/// attention, convolution, contraction, softmax, norm, pooling, reduction,
/// elementwise, other.
enum class WorkloadKind {
  Contraction,
  Convolution,
  Softmax,
  Norm,
  Attention,
  Reduction,
  Elementwise,
  Pooling,
  Other
};
/// As a worker's job spells it: "contraction", "convolution", ...
llvm::StringRef stringify(WorkloadKind kind);
std::optional<WorkloadKind> parseWorkloadKind(llvm::StringRef text);

/// A product summed over k: matmul, batched matmul, matvec, dot.
struct ContractionFeatures {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// True when the operand is stored with its reduction dimension outside of
  /// the other one (A) or inside of it (B), seen through transposes: the plain
  /// matmul A[m,k]·B[k,n] has neither.
  bool transposedA = false, transposedB = false;
  /// MLIR spelling: "f16", "f32". The operands' types as they come into the
  /// workload, and the accumulator's.
  std::string typeA, typeB, accumulator;
};

struct ConvolutionFeatures {
  int64_t batch = 1, inputChannels = 1, outputChannels = 1;
  /// 1 unless grouped; the channel count when depthwise.
  int64_t groups = 1;
  /// One element for each spatial dimension.
  llvm::SmallVector<int64_t, 3> output, kernel, stride, padding, dilation;
  std::string elementType, accumulator;
};

/// As the roles of a worker's job. Positive wins over the others: what stands
/// under a root or a logarithm; then Divisor. Data wins over Scale and Bias:
/// what is squared or summed up is more than a parameter.
enum class InputRole {
  Data,
  Weight,
  Bias,
  Scale,
  Positive,
  Divisor,
  Mask,
  Index
};
llvm::StringRef stringify(InputRole role);

/// An operand of the workload, to choose what values to draw.
struct InputFeatures {
  InputRole role = InputRole::Data;
  /// The body takes its logarithm, root or a power of it that is not integral,
  /// perhaps after adding a constant: most values drawn are positive.
  bool positive = false;
  /// The body divides by it: draw values away from zero. Of either sign, unless
  /// a constant is added first.
  bool nonZero = false;
  /// For indices and amounts of shifts: one above the largest that is in range,
  /// 0 when not known. And the smallest, which is negative where all negative
  /// indices count from the end.
  int64_t indexBound = 0, indexLow = 0;
  /// An integer that is compared with this constant; where it is an index, one
  /// that is chosen after the comparison: any loss that ignores a class.
  std::optional<int64_t> special;
  /// An integer that becomes an index by arithmetic: which ones are in range is
  /// not known, so draw small ones.
  bool addresses = false;
  /// An integer from which a divisor is computed: its zeros may be anywhere, so
  /// draw small ones.
  bool makesDivisors = false;
};

struct WorkloadFeatures {
  WorkloadKind kind = WorkloadKind::Other;
  /// "matmul_bias_gelu", "conv2d_bias_relu", "softmax", "attention_causal".
  std::string name;
  /// Length of the longest reduction: K of a contraction, channels times window
  /// of a convolution, a row of softmax or a norm. 1 when nothing is reduced.
  int64_t reductionLength = 1;
  /// Rows and elements of each, for softmax, norms and reductions; the scores
  /// for attention.
  int64_t rows = 0, rowLength = 0;
  /// In body order.
  llvm::SmallVector<ContractionFeatures, 2> contractions;
  llvm::SmallVector<ConvolutionFeatures, 1> convolutions;
  /// What follows the last contraction or convolution: "bias", "gelu", "add".
  llvm::SmallVector<std::string, 4> epilogue;
  /// One for each operand, in order.
  llvm::SmallVector<InputFeatures, 4> inputs;
  /// Relu, select, max: exact breakpoints are worth testing.
  bool piecewise = false;
};

/// Of a body in canonical or original form, as computeRoofline() takes it.
WorkloadFeatures analyzeWorkload(mlir::Region &body);
WorkloadFeatures analyzeWorkload(mlir::Block &body);

} // namespace fastk

#endif // FASTK_ANALYSIS_WORKLOADKIND_H
