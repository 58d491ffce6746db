//===- FlashInfer.h - Definitions of FlashInfer-Bench -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EXPORT_FLASHINFER_H
#define FASTK_EXPORT_FLASHINFER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fastk {

/// What an export needs of a Definition; its reference is Python's to read.
struct FlashInferDefinition {
  std::string name;
  /// In the order in which they are handed over.
  std::vector<std::string> inputs, outputs;
};

/// Reads a Definition; the error says what it lacks.
llvm::Expected<FlashInferDefinition>
readFlashInferDefinition(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_EXPORT_FLASHINFER_H
