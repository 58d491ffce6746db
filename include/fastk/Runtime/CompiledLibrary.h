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
  /// `<name>_packed`: pointers to the inputs, then to the outputs. Of a library
  /// for a GPU `gpuEntry` is set instead: pointers to its memory, and an error
  /// comes back as fastk_runtime.h says.
  void (*entry)(void **) = nullptr;
  int (*gpuEntry)(void **) = nullptr;
  /// Of a library for a GPU: fastk_prepare_<name>.
  int (*gpuPrepare)() = nullptr;

  /// Calls it, compiled for the host. The tensors must have the signature's
  /// types.
  void operator()(const std::vector<HostTensor> &inputs,
                  const std::vector<HostTensor> &outputs) const;
  /// Zeroed outputs of the right types.
  std::vector<HostTensor> makeOutputs() const;
};

/// A shared library made by `fastk-opt --emit=so`, loaded into this process for
/// as long as the process lives (OpenMP's threads may outlast any call).
class CompiledLibrary {
public:
  static llvm::Expected<CompiledLibrary> open(llvm::StringRef path);
  const std::vector<CompiledFunction> &functions() const { return entries; }
  /// The function of that name; for "" the only one. The error lists what there
  /// is.
  llvm::Expected<const CompiledFunction *> find(llvm::StringRef name) const;

private:
  std::string path;
  std::vector<CompiledFunction> entries;
};

} // namespace fastk

#endif // FASTK_RUNTIME_COMPILEDLIBRARY_H
