//===- EndingSignals.h - Signals that end a tool ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ctrl-C, a terminal that is closed, a kill and a reader that has gone end a
// tool in the same way: nothing temporary is left, and whoever waits for the
// process sees the signal.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_ENDINGSIGNALS_H
#define FASTK_SYSTEM_ENDINGSIGNALS_H

#include <vector>

namespace fastk {

/// From now on SIGHUP, SIGINT, SIGTERM and SIGPIPE remove the temporary folders
/// before they end the process, and so does exit(). To be called first in main:
/// what is ignored then, as nohup has it, is not touched, and LLVM's handlers,
/// which come later, hand on to these.
void watchEndingSignals();

/// Ignores again what was ignored then. To be called after llvm::InitLLVM,
/// which asks nobody.
void keepIgnoredSignals();

/// What asks the process to end, for handlers of one's own: SIGINT, SIGTERM,
/// and SIGHUP unless it was ignored when the process began. A shell has its
/// jobs in the background ignore SIGINT, and whoever sends it by kill means it.
std::vector<int> endingSignals();

/// The handler: removes the temporary folders and ends the process by
/// \p signal.
void endBySignal(int signal);

} // namespace fastk

#endif // FASTK_SYSTEM_ENDINGSIGNALS_H
