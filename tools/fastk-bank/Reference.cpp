//===- Reference.cpp - The model that a winner replaces -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "DeviceCode.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/FindPython.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <fcntl.h>

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

/// Far above any sidecar, or any problem's file.
static constexpr size_t kTextLimit = size_t(64) << 20;
/// Importing takes PyTorch, and a model.
static constexpr unsigned kImportSeconds = 600;
static constexpr unsigned kApplySeconds = 600;

llvm::Expected<std::string> fastk::bank::readText(const std::string &path,
                                                  size_t limit) {
  return readRegularFile(AT_FDCWD, path, path, limit);
}

/// The last lines of what a program said, for an error.
static std::string endOf(StringRef diagnostics) {
  StringRef text = diagnostics.trim();
  return text.take_back(2000).str();
}

/// What KernelBench's harness has to cast operands to: f16 or bf16 where one
/// winner was chosen, and all that it takes is of that type.
static std::string dtypeOf(ArrayRef<Row> rows) {
  if (rows.size() != 1 || !rows.front().winner)
    return "f32";
  std::string dtype;
  for (Type type :
       rows.front().winner->getLowering().getWorkloadType().getInputs()) {
    Type element = getElementTypeOrSelf(type);
    std::string name = element.isF16() ? "f16" : element.isBF16() ? "bf16" : "";
    if (name.empty() || (!dtype.empty() && name != dtype))
      return "f32";
    dtype = name;
  }
  return dtype.empty() ? "f32" : dtype;
}

static llvm::Error runImporter(const ExportOptions &options, ArrayRef<Row> rows,
                               const std::string &folder) {
  bool isProblem = options.format == ExportFormat::KernelBench;
  const std::string &file = isProblem ? options.reference : options.definition;
  // What Python would say of it is longer.
  if (llvm::Expected<std::string> text = readText(file, kTextLimit); !text)
    return text.takeError();
  llvm::Expected<std::string> python = findPython(
      "a model is imported by a Python that has fastk and PyTorch: name it "
      "with FASTK_PYTHON, or give an import that was made elsewhere with "
      "--imported=DIR");
  if (!python)
    return python.takeError();
  std::vector<std::string> arguments = {
      "-m", isProblem ? "fastk.kernelbench.reference" : "fastk.flashinfer",
      file, "-o", folder};
  if (isProblem)
    arguments.push_back("--dtype=" + dtypeOf(rows));
  for (const std::string &axis : options.axes)
    arguments.push_back("--axis=" + axis);
  ProcessLimits limits;
  limits.seconds = kImportSeconds;
  llvm::Expected<ProcessResult> result =
      runProcess(*python, arguments, "", limits, folder);
  if (!result)
    return result.takeError();
  if (result->exitCode == 0)
    return llvm::Error::success();
  if (result->timedOut)
    return llvm::createStringError(file + ": was not imported within " +
                                   Twine(kImportSeconds) + " s");
  std::string said = endOf(result->diagnostics);
  if (StringRef(said).contains("No module named"))
    said += "; FASTK_PYTHON names a Python that has fastk and PyTorch "
            "(docs/importer.md), --imported=DIR an import that was made "
            "elsewhere";
  return llvm::createStringError(file + ": was not imported: " + said);
}

llvm::Expected<ImportedReference>
fastk::bank::importReference(const ExportOptions &options, ArrayRef<Row> rows) {
  ImportedReference reference;
  std::string folder = options.imported;
  if (folder.empty()) {
    if (std::error_code code = reference.scratch.create("fastk-export"))
      return llvm::createStringError(code, explainTemporaryFileError(code));
    folder = reference.scratch.path();
    if (llvm::Error error = runImporter(options, rows, folder))
      return std::move(error);
  }
  reference.model = folder + "/model.mlir";
  if (llvm::Expected<std::string> model = readText(reference.model, kTextLimit);
      !model)
    return model.takeError();
  std::string path = reference.model + ".json";
  llvm::Expected<std::string> sidecar = readText(path, kTextLimit);
  if (!sidecar)
    return sidecar.takeError();
  auto arguments = readModelArguments(*sidecar);
  if (!arguments)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(arguments.takeError()));
  reference.arguments = std::move(*arguments);
  if (options.format == ExportFormat::KernelBench) {
    llvm::Expected<std::string> source =
        readText(folder + "/reference.py", kTextLimit);
    if (!source)
      return source.takeError();
    reference.source = std::move(*source);
  }
  return reference;
}

/// The model with winners applied, as text.
static llvm::Expected<std::string>
applyWinners(const ImportedReference &reference, const ExportOptions &options) {
  ProcessFolder folder;
  if (std::error_code code = folder.create("fastk-apply"))
    return llvm::createStringError(code, explainTemporaryFileError(code));
  std::string out = folder.file("applied.mlir");
  std::vector<std::string> arguments = {
      reference.model,
      "--target=" + (options.target.empty() ? "cuda:sm_90a" : options.target),
      "--precision=" + stringifyPrecision(options.precision).str(),
      "--winners-from=any",
      "--require-hits=1",
      "--explain-miss",
      "-o",
      out};
  for (const std::string &bank : options.banks)
    arguments.push_back("--bank=" + bank);
  ProcessLimits limits;
  limits.seconds = kApplySeconds;
  llvm::Expected<ProcessResult> result =
      runProcess(siblingOf(options.executable, "fastk-opt"), arguments, "",
                 limits, folder.path());
  if (!result)
    return result.takeError();
  if (result->exitCode != 0)
    return llvm::createStringError("no winner is the model's workload:\n" +
                                   endOf(result->diagnostics));
  return readText(out, kTextLimit);
}

static DialectRegistry dialectsOfModels() {
  DialectRegistry registry;
  registry.insert<FastkDialect, affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, complex::ComplexDialect,
                  func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect,
                  LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, tensor::TensorDialect>();
  return registry;
}

/// The winner that was applied, which is one of these.
static llvm::Expected<const Row *> findRow(LoweringOp applied,
                                           ArrayRef<Row> rows) {
  for (const Row &row : rows)
    if (row.winner && row.winner->getLowering().getSeal() == applied.getSeal())
      return &row;
  return llvm::createStringError(
      "the model's workload is " + applied.getKey() +
      ", of which no winner is chosen by --key and --target");
}

llvm::Expected<FittingWinner>
fastk::bank::findWinner(const ImportedReference &reference,
                        const ExportOptions &options, ArrayRef<Row> rows) {
  llvm::Expected<std::string> text = applyWinners(reference, options);
  if (!text)
    return text.takeError();
  MLIRContext context(dialectsOfModels(), MLIRContext::Threading::DISABLED);
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(*text, ParserConfig(&context));
  if (!module)
    return llvm::createStringError(
        "the model with its winners cannot be read: " + problem);
  auto lowerings = module->getOps<LoweringOp>();
  if (std::distance(lowerings.begin(), lowerings.end()) != 1)
    return llvm::createStringError(
        "the model is several winners: an export is one winner, which is the "
        "whole model");
  LoweringOp applied = *lowerings.begin();
  llvm::Expected<const Row *> row = findRow(applied, rows);
  if (!row)
    return row.takeError();
  llvm::Expected<ModelFit> fit =
      fitModel(*module, applied.getKey(), reference.arguments);
  if (!fit)
    return llvm::createStringError("the model is more than the winner " +
                                   (*row)->entry.folder + ": " +
                                   llvm::toString(fit.takeError()));
  return FittingWinner{*row, std::move(*fit)};
}
