//===- LoadModel.cpp - Reading a model and refusing bad ones --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/LoadModel.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/RegisterMLIR.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

void fastk::registerFastkDialects(DialectRegistry &registry) {
  registerMLIRDialects(registry);
  registry.insert<FastkDialect>();
}

namespace {
/// A dialect that a producer of linalg may leave behind, and what to do.
struct ForeignDialect {
  StringRef name;
  StringRef remedy;
};
} // namespace

static constexpr ForeignDialect kForeignDialects[] = {
    {"torch", "fastk reads linalg on tensors: import the model with `python -m "
              "fastk.importer`, or lower it with torch-mlir's "
              "output_type=\"linalg-on-tensors\""},
    {"torch_c", "fastk reads linalg on tensors: import the model with `python "
                "-m fastk.importer`"},
    {"tm_tensor", "torch-mlir's tm_tensor ops (scan, scatter, sort, topk, "
                  "attention) are not lowered by this version: decompose the "
                  "op before export"},
    {"stablehlo", "fastk reads linalg on tensors: lower StableHLO with "
                  "stablehlo-opt --stablehlo-legalize-to-linalg"},
    {"ml_program", "random-number state is not supported: export the model in "
                   "eval mode, without dropout"},
};

/// The remedy for an op of `dialect`; empty when fastk knows none.
static StringRef remedyFor(StringRef dialect) {
  for (const ForeignDialect &foreign : kForeignDialects)
    if (foreign.name == dialect)
      return foreign.remedy;
  return "";
}

OwningOpRef<ModuleOp> fastk::loadModel(StringRef path,
                                       llvm::SourceMgr &sourceMgr,
                                       MLIRContext *context) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file) {
    llvm::errs() << "fastk: error: " << message << "\n";
    return nullptr;
  }
  bool isEmpty = StringRef(file->getBuffer()).trim().empty();
  sourceMgr.AddNewSourceBuffer(std::move(file), SMLoc());
  if (isEmpty) {
    emitError(FileLineColLoc::get(context, path, 1, 1))
        << "the input is empty; expected a module of linalg on tensors";
    return nullptr;
  }

  // The parser's own message for a foreign op names the dialect but not what to
  // do; a note after it does.
  std::string remedy;
  ScopedDiagnosticHandler watch(context, [&](Diagnostic &diag) {
    std::string text = diag.str();
    if (size_t at = text.find("ialect `"); at != std::string::npos)
      remedy = remedyFor(StringRef(text).drop_front(at + 8).take_until(
          [](char c) { return c == '\''; }));
    else if (size_t at =
                 text.find("operation being parsed with an unregistered "
                           "dialect");
             at != std::string::npos)
      remedy =
          "fastk knows no such dialect: lower the op to linalg, or load its "
          "dialect with --load-dialect-plugin";
    if (!remedy.empty())
      diag.attachNote() << remedy;
    return failure(); // let the next handler print it
  });
  return parseSourceFile<ModuleOp>(sourceMgr, ParserConfig(context));
}

/// Bytes of a static tensor, or nothing when that does not fit in 63 bits.
static std::optional<int64_t> byteSize(RankedTensorType type) {
  int64_t bits = 1;
  for (int64_t dim : type.getShape())
    if (llvm::MulOverflow(bits, dim, bits))
      return std::nullopt;
  unsigned width =
      type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 64;
  if (llvm::MulOverflow(bits, int64_t(llvm::divideCeil(width, 8)), bits))
    return std::nullopt;
  return bits;
}

LogicalResult fastk::checkModel(ModuleOp module) {
  // x86-64 gives user space 47 bits of addresses.
  constexpr int64_t kAddressSpace = int64_t(1) << 47;
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    StringRef remedy = remedyFor(op->getName().getDialectNamespace());
    if (!remedy.empty())
      return op->emitOpError() << "cannot be compiled: " << remedy;
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        continue;
      std::optional<int64_t> bytes = byteSize(tensor);
      if (!bytes || *bytes >= kAddressSpace)
        return op->emitOpError()
               << "makes " << tensor
               << ", which does not fit in the address space of the target "
                  "(2^47 bytes): check the shapes the model was exported with";
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
