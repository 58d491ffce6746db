//===- Push.h - Found winners to remote banks -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_PUSH_H
#define FASTK_TOOLS_FASTK_OPT_PUSH_H

#include "fastk/Driver/Session.h"
#include <string>
#include <vector>

namespace fastk {

/// Sends the winners of the workloads in `summary` that lie in the folder where
/// new ones are stored to the remote banks of the session. What to say of it, a
/// line each; failures are among them as warnings, for what was found is safe.
void pushFound(const ApplySummary &summary, Session &session,
               std::vector<std::string> &said,
               std::vector<std::string> &warnings);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_PUSH_H
