//===- HostProgram.h - Programs of families for the host, run ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_HOSTPROGRAM_H
#define FASTK_UNITTESTS_FAMILIES_HOSTPROGRAM_H

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Families/Family.h"

namespace fastk::test {

/// A workload as a core in C, for vectors of so many bytes.
families::CoreInstance describeInC(llvm::StringRef core, CanonicalForm &form,
                                   unsigned vectorBytes, unsigned threads);

/// Compiles a C or C++ program with clang, by the ending "c" or "cpp", and runs
/// it. What went wrong, with what it printed; empty: nothing.
std::string runOnHost(const std::string &program, llvm::StringRef ending);

/// Checks an instance of a family for the host, its first choice where `number`
/// is even, else any: it is compiled behind operands of small numbers, and
/// `checks` are the body of a main() that returns what is wrong. False: the
/// family does not take the workload.
///
/// Checks may use draw(), read_() of an element of the result, isNear() and
/// bad(), which prints where something is wrong, and of cores with columns
/// CHECK_COLUMNS_(), whether finishColumns() is finish(); `out` and `elements`
/// are the result and the number of its elements, a0, a1, ... the function's
/// operands. `functions` stand before main().
bool checkOnHost(llvm::StringRef family, llvm::StringRef core,
                 CanonicalForm &form, const std::string &checks,
                 const std::string &about, uint64_t number,
                 const std::string &functions = "");

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_HOSTPROGRAM_H
