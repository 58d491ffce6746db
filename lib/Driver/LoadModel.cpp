//===- LoadModel.cpp - Reading a model and refusing bad ones --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/LoadModel.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "fastk/Driver/RegisterMLIR.h"
#include "fastk/Support/Nesting.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fastk;

void fastk::registerFastkDialects(DialectRegistry &registry) {
  registerMLIRDialects(registry);
  registry.insert<FastkDialect, tm_tensor::TMTensorDialect>();
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
    {"stablehlo", "fastk reads linalg on tensors: lower StableHLO with "
                  "stablehlo-opt --stablehlo-legalize-to-linalg"},
};

/// The remedy for an op of `dialect`; empty when fastk knows none.
static StringRef remedyFor(StringRef dialect) {
  for (const ForeignDialect &foreign : kForeignDialects)
    if (foreign.name == dialect)
      return foreign.remedy;
  return "";
}

/// The line of the source that `loc` points at; empty when it points elsewhere.
static StringRef sourceLine(Location loc, const llvm::SourceMgr &sourceMgr) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  if (!place)
    return "";
  StringRef text =
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID())->getBuffer();
  for (unsigned line = 1; line < place.getLine() && !text.empty(); ++line)
    text = text.split('\n').second;
  return text.split('\n').first;
}

/// What to do about an error of the parser.
static StringRef remedyForMessage(const Diagnostic &diag,
                                  const llvm::SourceMgr &sourceMgr) {
  std::string text = diag.str();
  StringRef line = sourceLine(diag.getLocation(), sourceMgr);
  if (text.find("unregistered") != std::string::npos ||
      text.find("not found") != std::string::npos ||
      text.find("is unknown") != std::string::npos) {
    // "torch.aten.mm" or !torch.vtensor: not part of a longer word.
    for (const ForeignDialect &foreign : kForeignDialects)
      for (StringRef prefix : {"\"", "!", " "})
        if (line.contains((prefix + foreign.name + ".").str()))
          return foreign.remedy;
    if (text.find("unregistered") != std::string::npos ||
        text.find("not found") != std::string::npos)
      return "fastk knows no such dialect: lower the op to linalg, or load its "
             "dialect with --load-dialect-plugin";
  }
  return "fastk reads what MLIR " LLVM_VERSION_STRING
         " prints, linalg on tensors: a file that was cut, or written by "
         "another version, does not parse; make it again with `python -m "
         "fastk.importer`";
}

/// MLIR's readers of some ops (the permutation of a linalg.transpose) follow
/// null pointers where the text is wrong, and brackets within brackets exhaust
/// the stack. Either is the file's error, and is told as one.
static OwningOpRef<ModuleOp> parseSafely(const llvm::SourceMgr &sourceMgr,
                                         StringRef path, MLIRContext *context) {
  auto start = FileLineColLoc::get(context, path, 1, 1);
  constexpr unsigned kDeepest = 1000;
  if (isNestedDeeper(
          sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID())->getBuffer(),
          kDeepest)) {
    emitError(start) << "brackets are nested more than " << kDeepest
                     << " deep; no model is";
    return nullptr;
  }
  OwningOpRef<ModuleOp> module;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] {
    module = parseSourceFile<ModuleOp>(sourceMgr, ParserConfig(context));
  });
  llvm::CrashRecoveryContext::Disable();
  if (!survived)
    emitError(start) << "MLIR's parser crashed on this file, so something in "
                        "it is not well formed; look at the ops with a syntax "
                        "of their own, such as the permutation of a "
                        "linalg.transpose";
  return module;
}

OwningOpRef<ModuleOp> fastk::loadModel(StringRef path,
                                       llvm::SourceMgr &sourceMgr,
                                       MLIRContext *context,
                                       llvm::raw_ostream &said) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file) {
    llvm::WithColor::error(said, path) << message << "\n";
    return nullptr;
  }
  if (path.ends_with(".py")) {
    llvm::WithColor::error(said, path)
        << "is Python: import the model first, by python -m fastk.importer "
        << path << ":FUNCTION -o MODEL.mlir\n";
    return nullptr;
  }
  return parseModel(std::move(file), path, sourceMgr, context);
}

OwningOpRef<ModuleOp>
fastk::parseModel(std::unique_ptr<llvm::MemoryBuffer> text, StringRef name,
                  llvm::SourceMgr &sourceMgr, MLIRContext *context) {
  bool isEmpty = text->getBuffer().trim().empty();
  sourceMgr.AddNewSourceBuffer(std::move(text), SMLoc());
  if (isEmpty) {
    emitError(FileLineColLoc::get(context, name, 1, 1))
        << "the input is empty; expected a module of linalg on tensors";
    return nullptr;
  }

  // The parser's own message for a foreign op or type names the dialect but not
  // what to do; a note after it does. One note a file is enough.
  bool isExplained = false;
  ScopedDiagnosticHandler watch(context, [&](Diagnostic &diag) {
    if (diag.getSeverity() != DiagnosticSeverity::Error || isExplained)
      return failure(); // let the next handler print it
    diag.attachNote() << remedyForMessage(diag, sourceMgr);
    isExplained = true;
    return failure();
  });
  return parseSafely(sourceMgr, name, context);
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

/// Buffers mean that the module is past what fastk starts from.
static LogicalResult checkOnTensors(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(op->getResultTypes(), op->getOperandTypes()))
    if (isa<BaseMemRefType>(type))
      return op->emitOpError()
             << "works on " << type
             << ": fastk reads linalg on tensors; give it the module as it was "
                "before bufferization";
  return success();
}

LogicalResult fastk::checkModel(ModuleOp module) {
  // x86-64 gives user space 47 bits of addresses.
  constexpr int64_t kAddressSpace = int64_t(1) << 47;
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op)
                                                           -> WalkResult {
    // The ops of a plan are on buffers, and no part of the model.
    Region *region = op->getParentRegion();
    if (auto lowering = dyn_cast_or_null<LoweringOp>(op->getParentOp()))
      if (region == &lowering.getPlan())
        return WalkResult::skip();
    StringRef remedy = remedyFor(op->getName().getDialectNamespace());
    if (!remedy.empty())
      return op->emitOpError() << "cannot be compiled: " << remedy;
    if (failed(checkOnTensors(op)))
      return WalkResult::interrupt();
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
