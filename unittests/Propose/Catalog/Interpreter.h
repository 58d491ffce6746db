//===- Interpreter.h - Patterns evaluated in double, one element at a time ===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An independent reference for the catalog's tests: it shares no code with the
// emitter and knows nothing of speed. Every value is a double.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_CATALOG_INTERPRETER_H
#define FASTK_UNITTESTS_PROPOSE_CATALOG_INTERPRETER_H

#include "mlir/IR/Block.h"
#include <string>
#include <vector>

namespace fastk {
namespace test {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

/// Runs the block (linalg.generic, fill, tensor ops; terminated by what it
/// returns) on its arguments. An op that it does not know sets `error`.
std::vector<Array> interpret(mlir::Block &block, std::vector<Array> arguments,
                             std::string &error);

} // namespace test
} // namespace fastk

#endif // FASTK_UNITTESTS_PROPOSE_CATALOG_INTERPRETER_H
