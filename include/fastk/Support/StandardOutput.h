//===- StandardOutput.h - What becomes of printed results -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_STANDARDOUTPUT_H
#define FASTK_SUPPORT_STANDARDOUTPUT_H

namespace fastk {

/// When the process ends, by exit() as --help does it or otherwise, standard
/// output is flushed; where that fails, or failed before, it is an error of
/// `tool`, a literal, and the exit code is 1. A reader that has gone is told
/// nothing. LLVM's own streams would end the process with words of a crash. To
/// be called in main before anything is printed.
void watchStandardOutput(const char *tool);

} // namespace fastk

#endif // FASTK_SUPPORT_STANDARDOUTPUT_H
