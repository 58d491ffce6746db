//===- FuzzTargets.h - What is fuzzed ---------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that reads what others wrote, as functions of bytes. They abort
// where a promise is broken; a sanitizer sees the rest. libFuzzer calls them
// (FASTK_ENABLE_FUZZERS), and ReplayTest does with what was found before.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FUZZ_FUZZTARGETS_H
#define FASTK_UNITTESTS_FUZZ_FUZZTARGETS_H

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fastk::fuzz {

/// A job as JSON.
void fuzzJob(std::string_view data);
/// A verdict as JSON.
void fuzzVerdict(std::string_view data);
/// A launch plan as JSON.
void fuzzPlan(std::string_view data);
/// A winner: the text of lowering.mlir, then a line `//PROGRAM`, then the
/// program.
void fuzzBank(std::string_view data);
/// A journal. After "raw\n" its bytes; else the bodies of its events, a line
/// each, which get their checksums here.
void fuzzJournal(std::string_view data);
/// A model. After "bytes\n" what a generator makes of the rest, which always
/// parses; else its text.
void fuzzFormation(std::string_view data);

/// A broken promise. Aborts, so that libFuzzer keeps the input.
[[noreturn]] inline void fail(const char *promise,
                              const std::string &detail = "") {
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, detail.c_str());
  std::abort();
}

} // namespace fastk::fuzz

#endif // FASTK_UNITTESTS_FUZZ_FUZZTARGETS_H
