//===- CompiledLibrary.h - Load and call what fastk compiled ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_RUNTIME_COMPILEDLIBRARY_H
#define FASTK_RUNTIME_COMPILEDLIBRARY_H

#include "fastk/Runtime/Signature.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace fastk {

/// One function of a compiled library.
struct CompiledFunction {
  std::string name;
  Signature signature;
  /// `<name>_packed`: pointers to the inputs, then to the outputs. One of
  /// dynamic shape takes two: an input its elements and its shape, an output
  /// where a pointer to memory for free() goes, and where its shape does.
  /// Returns 0, or a number that `errorText`, fastk_error_<name>, knows. Of a
  /// library for a GPU `gpuEntry` is set instead: pointers to its memory, and
  /// an error comes back as fastk_runtime.h says.
  int (*entry)(void **) = nullptr;
  /// Null in a library of a fastk that had no errors: `entry` returns nothing.
  const char *(*errorText)(int) = nullptr;
  int (*gpuEntry)(void **) = nullptr;
  /// Of a library for a GPU: fastk_prepare_<name>.
  int (*gpuPrepare)() = nullptr;

  /// Calls it, compiled for the host. The tensors must be of types that the
  /// signature accepts. Outputs of dynamic shape are replaced. The error is
  /// what the model says: an index out of bounds, shapes that do not fit.
  llvm::Error operator()(const std::vector<HostTensor> &inputs,
                         std::vector<HostTensor> &outputs) const;
  /// Zeroed outputs of the right types; empty ones where the shape is not known
  /// before the call.
  std::vector<HostTensor> makeOutputs() const;
};

/// What is wrong where a model has not the function that was asked for: "has
/// several functions: choose one with --entry: f, g" where none was named, else
/// "has no function 'h': it has f, g".
std::string explainNoFunction(llvm::StringRef function,
                              llvm::ArrayRef<std::string> known);

/// A shared library made by `fastk-opt --emit=so`, loaded into this process for
/// as long as the process lives (OpenMP's threads may outlast any call).
class CompiledLibrary {
public:
  /// `shownName` is what messages call it; empty: its path.
  static llvm::Expected<CompiledLibrary> open(llvm::StringRef path,
                                              llvm::StringRef shownName = "");
  const std::vector<CompiledFunction> &functions() const { return entries; }
  /// The function of that name; for "" the only one. The error lists what there
  /// is.
  llvm::Expected<const CompiledFunction *> find(llvm::StringRef function) const;

private:
  std::string name;
  std::vector<CompiledFunction> entries;
};

} // namespace fastk

#endif // FASTK_RUNTIME_COMPILEDLIBRARY_H
