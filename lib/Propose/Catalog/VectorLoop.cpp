//===- VectorLoop.cpp - A loop in steps of a vector -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

void KernelEmitter::vectorLoop(Writer &w, const std::string &counter,
                               const std::string &count, unsigned var,
                               const std::string &base,
                               llvm::function_ref<void(Scope &)> body,
                               const std::vector<MergedVars> &merged) {
  std::string lanes = std::to_string(program.lanes);
  const std::string &name = program.vars[var].name;
  w.line("long " + counter + " = 0;");
  for (bool partial : {false, true}) {
    w.open(partial ? "if (" + counter + " < " + count + ")"
                   : "for (; " + counter + " + " + lanes + " <= " + count +
                         "; " + counter + " += " + lanes + ")");
    w.line("const long " + name + " = " + base + " + " + counter + ";");
    w.line("(void)" + name + ";");
    Scope scope(program, w.out, w.indent);
    scope.vectorVar = var;
    scope.merged = merged;
    if (partial)
      scope.partial = count + " - " + counter;
    body(scope);
    w.close();
  }
}
