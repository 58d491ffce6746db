//===- fastk-lsp-server.cpp - MLIR with fastk's dialects for editors ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server that knows what fastk-opt parses. It registers no
// passes: a server reads and verifies, and runs nothing.
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Driver/LoadModel.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/raw_ostream.h"

// MLIR's own --help lists every option of LLVM's.
static constexpr llvm::StringLiteral kHelp =
    R"(OVERVIEW: fastk-lsp-server: MLIR with fastk's dialects for editors

Speaks the language server protocol on standard input and output: an editor starts
it for .mlir files. It shows errors of fastk's verifiers and of MLIR's while a file
is edited, definitions and uses of values and symbols, what an op is under the
cursor, and completions. It reads and verifies what the editor has open; it runs no
pass and no search, and writes nothing.

How editors are told: docs/plugins.md#in-an-editor

USAGE: fastk-lsp-server [options]

OPTIONS:
  --log=error|info|verbose  What is written to standard error; default: info
  --pretty                  JSON with line breaks
  --lit-test                For tests: messages are separated by lines of // -----
  --help                    This text
  --version                 Version

EXIT CODES: 0 the editor has ended it; 1 the options are wrong, or the editor was gone
without having ended it
)";

int fastk::lspMain(int argc, char **argv) {
  for (llvm::StringRef argument : llvm::ArrayRef(argv + 1, argc - 1)) {
    if (argument == "--help" || argument == "-h" || argument == "-help") {
      llvm::outs() << kHelp;
      return 0;
    }
    if (argument == "--version") {
      llvm::outs() << "fastk version " FASTK_VERSION "\n";
      return 0;
    }
  }
  mlir::DialectRegistry registry;
  fastk::registerFastkDialects(registry);
  fastk::registerHostCodegen(registry);
  fastk::registerCudaCodegen(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
