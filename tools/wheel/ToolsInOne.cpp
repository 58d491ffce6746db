//===- ToolsInOne.cpp - The programs that have MLIR in them ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One program that is the tool by whose name it is called; fastk-opt by any
// other name, which is how its own child processes are called.
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include <string_view>

int main(int argc, char **argv) {
  std::string_view name = argc > 0 ? argv[0] : "";
  name.remove_prefix(name.rfind('/') + 1);
  if (name == "fastk-run")
    return fastk::runMain(argc, argv);
  if (name == "fastk-bank")
    return fastk::bankMain(argc, argv);
  if (name == "fastk-lsp-server")
    return fastk::lspMain(argc, argv);
  return fastk::optMain(argc, argv);
}
