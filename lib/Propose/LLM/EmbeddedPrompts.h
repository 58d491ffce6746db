//===- EmbeddedPrompts.h - Prompts/*.md as texts ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_EMBEDDEDPROMPTS_H
#define FASTK_LIB_PROPOSE_LLM_EMBEDDEDPROMPTS_H

#include <map>
#include <string>

namespace fastk {

/// By name, without ".md".
const std::map<std::string, std::string> &embeddedPrompts();

} // namespace fastk

#endif // FASTK_LIB_PROPOSE_LLM_EMBEDDEDPROMPTS_H
