//===- HttpModel.h - Models behind an HTTP service --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_HTTPMODEL_H
#define FASTK_LLM_HTTPMODEL_H

#include "fastk/LLM/LanguageModel.h"
#include "fastk/LLM/ModelOptions.h"
#include <memory>

namespace fastk {

/// A model of one of the providers. Makes no request yet. An error when the key
/// is missing (it names the variable), when it would travel in the clear, or
/// when an option makes no sense. While the model lives, this process leaves no
/// core file (fastk/Secrets/CoreFiles.h).
llvm::Expected<std::unique_ptr<LanguageModel>>
createHttpModel(const ModelOptions &options);

} // namespace fastk

#endif // FASTK_LLM_HTTPMODEL_H
