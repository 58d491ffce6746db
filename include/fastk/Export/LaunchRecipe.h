//===- LaunchRecipe.h - A winner as other projects launch it ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every format of `fastk-bank export` is written from: device code, plan,
// and the tensors that a call takes and gives. docs/export.md describes the
// formats.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EXPORT_LAUNCHRECIPE_H
#define FASTK_EXPORT_LAUNCHRECIPE_H

#include "fastk/Bank/Winner.h"
#include "fastk/Protocol/ElementType.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fastk {

/// A contiguous row-major tensor.
struct RecipeTensor {
  worker::ElementType type = worker::ElementType::F32;
  std::vector<int64_t> shape;

  int64_t elements() const;
  int64_t bytes() const { return elements() * worker::byteSize(type); }
  /// "4096x65536xf32"; "f32" for a scalar.
  std::string str() const;
};

/// How a winner is launched, and what it is. Texts that come from the bank are
/// as they were read: writers make them safe for where they put them.
struct LaunchRecipe {
  enum class Code { CudaC, PTX };

  /// Names it in C and Python: letters, digits and underscores, as
  /// "softmax_8e523910", "conv2d_bias_b5a1dc8a_half".
  std::string module;
  /// "softmax", "4096x65536xf32".
  std::string name, shapes;
  std::string key, precision;
  /// "sm_90a".
  std::string chip;
  std::string title, machine;
  /// 0 where they are unknown.
  double medianNs = 0, speedup = 0;

  std::vector<RecipeTensor> inputs, outputs;
  Code kind = Code::CudaC;
  std::string code;
  worker::LaunchPlan plan;

  /// The entries that the plan launches, each once, in the order of their first
  /// launch.
  std::vector<std::string> kernels() const;
  /// "softmax_of_8e523910": the entry \p kernel where the code is CUDA-C. Its
  /// own name may be that of a function of C.
  std::string symbolOf(const std::string &kernel) const;
  /// Where each workspace begins in the scratch memory of a call, at multiples
  /// of 256 bytes; behind them the size of it all.
  std::vector<int64_t> workspaceOffsets() const;
  int64_t workspaceBytes() const { return workspaceOffsets().back(); }
};

/// Describes a winner for a GPU by the program that was made of it: its own
/// source, or PTX for languages that are not CUDA-C. Fails for winners of the
/// host, and for tensors that have no counterpart in PyTorch.
llvm::Expected<LaunchRecipe> makeRecipe(const Winner &winner,
                                        LaunchRecipe::Code kind,
                                        std::string code,
                                        worker::LaunchPlan plan);

/// A file of an export, by its path in the folder of exports.
struct ExportedFile {
  std::string path, text;
};

/// \p text for a comment of one line: no line ends, no control characters, and
/// no backslash at its end.
std::string commentOf(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_EXPORT_LAUNCHRECIPE_H
