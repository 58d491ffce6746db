//===- Export.cpp - Winners for others ------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "DeviceCode.h"
#include "Reference.h"
#include "fastk/Export/Writers.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

namespace {

/// What became of the winners.
struct Counts {
  size_t written = 0, there = 0, leftOut = 0;

  int report(StringRef to) const {
    llvm::outs() << written << (written == 1 ? " winner" : " winners")
                 << " written to " << to << ", " << there << " there already, "
                 << leftOut << " stale and left out\n";
    return leftOut > 0 ? kExitRefused : kExitDone;
  }
};

/// Names the stale ones, and counts them.
void reportStale(ArrayRef<Row> rows, Counts &counts) {
  for (const Row &row : rows)
    if (!row.winner) {
      ++counts.leftOut;
      llvm::outs() << "left out: " << row.entry.folder
                   << ": stale: " << row.entry.problem << "\n";
    }
}

/// Whether all files are in the folder already, as they are. Fails where one is
/// there that says something else.
llvm::Expected<bool> areThere(StringRef to,
                              const std::vector<ExportedFile> &files) {
  bool all = true;
  for (const ExportedFile &file : files) {
    std::string path = (to + "/" + file.path).str();
    if (!llvm::sys::fs::exists(path)) {
      all = false;
      continue;
    }
    // One byte more than expected is another file, too.
    llvm::Expected<std::string> text =
        readRegularFile(AT_FDCWD, path, path, file.text.size() + 1);
    if (!text)
      llvm::consumeError(text.takeError());
    if (!text || *text != file.text)
      return llvm::createStringError(
          path + ": is there already, and is another file; name another folder "
                 "with --to, or remove it");
  }
  return all;
}

/// Each file in one step; what is there is never changed.
llvm::Error writeFiles(StringRef to, const std::vector<ExportedFile> &files,
                       Counts &counts) {
  llvm::Expected<bool> there = areThere(to, files);
  if (!there)
    return there.takeError();
  if (*there) {
    ++counts.there;
    return llvm::Error::success();
  }
  for (const ExportedFile &file : files) {
    std::string path = (to + "/" + file.path).str();
    if (llvm::Error error =
            createDirectories(llvm::sys::path::parent_path(path)))
      return error;
    if (llvm::Error error = writeFileAtomically(path, file.text))
      return error;
    llvm::outs() << "wrote " << path << "\n";
  }
  ++counts.written;
  return llvm::Error::success();
}

/// What a reader of the export should know.
void remark(const LaunchRecipe &recipe, ExportFormat format) {
  if (recipe.kind != LaunchRecipe::Code::PTX)
    return;
  llvm::errs() << "fastk-bank: " << recipe.module
               << ": its program is not CUDA-C, so the export has PTX that "
                  "fastk's compiler made of it";
  if (format == ExportFormat::KernelBench)
    llvm::errs() << "; KernelBench's static checker asks for a __global__ "
                    "function and refuses it, its evaluation does not";
  llvm::errs() << "\n";
}

int exportAsBank(StringRef to, std::vector<Row> &rows) {
  llvm::Expected<Bank> bank = Bank::open(to);
  if (!bank)
    return reportError(llvm::toString(bank.takeError()));
  Counts counts;
  reportStale(rows, counts);
  for (Row &row : rows) {
    if (!row.winner)
      continue;
    llvm::Expected<WriteResult> result =
        bank->write(*row.winner->module, readTrajectory(row.winner->folder));
    if (!result)
      return reportError(llvm::toString(result.takeError()));
    ++(result->outcome == WriteOutcome::KeptExisting ? counts.there
                                                     : counts.written);
  }
  return counts.report(to);
}

/// Every winner by itself.
int exportEach(const ExportOptions &options, std::vector<Row> &rows) {
  DeviceCode code(options.executable);
  Counts counts;
  reportStale(rows, counts);
  for (Row &row : rows) {
    if (!row.winner)
      continue;
    llvm::Expected<LaunchRecipe> recipe = code.recipeOf(*row.winner);
    if (!recipe)
      return reportError(row.entry.folder + ": " +
                         llvm::toString(recipe.takeError()));
    remark(*recipe, options.format);
    llvm::Error error =
        writeFiles(options.to,
                   options.format == ExportFormat::Torch ? writeTorch(*recipe)
                                                         : writeCu(*recipe),
                   counts);
    if (error)
      return reportError(llvm::toString(std::move(error)));
  }
  return counts.report(options.to);
}

llvm::Expected<std::vector<ExportedFile>>
writeForModel(const LaunchRecipe &recipe, const ImportedReference &reference,
              const ModelFit &fit, const ExportOptions &options) {
  if (options.format == ExportFormat::KernelBench)
    return writeKernelBench(recipe, fit, reference.source);
  llvm::Expected<std::string> text =
      readText(options.definition, kDefinitionLimit);
  if (!text)
    return text.takeError();
  llvm::Expected<FlashInferDefinition> definition =
      readFlashInferDefinition(*text);
  if (!definition)
    return llvm::createStringError(options.definition + ": " +
                                   llvm::toString(definition.takeError()));
  return writeFlashInfer(recipe, fit, *definition);
}

/// The one winner that a model is.
int exportForModel(const ExportOptions &options, std::vector<Row> &rows) {
  llvm::Expected<ImportedReference> reference = importReference(options, rows);
  if (!reference)
    return reportError(llvm::toString(reference.takeError()));
  llvm::Expected<FittingWinner> found = findWinner(*reference, options, rows);
  if (!found)
    return reportError(llvm::toString(found.takeError()));
  DeviceCode code(options.executable);
  llvm::Expected<LaunchRecipe> recipe = code.recipeOf(*found->row->winner);
  if (!recipe)
    return reportError(found->row->entry.folder + ": " +
                       llvm::toString(recipe.takeError()));
  remark(*recipe, options.format);
  llvm::Expected<std::vector<ExportedFile>> files =
      writeForModel(*recipe, *reference, found->fit, options);
  if (!files)
    return reportError(llvm::toString(files.takeError()));
  Counts counts;
  if (llvm::Error error = writeFiles(options.to, *files, counts))
    return reportError(llvm::toString(std::move(error)));
  return counts.report(options.to);
}

} // namespace

std::string fastk::bank::checkExport(const ExportOptions &options) {
  bool isProblem = options.format == ExportFormat::KernelBench;
  bool isDefinition = options.format == ExportFormat::FlashInfer;
  if (options.to.empty())
    return "export needs --to=DIR, where the copies go";
  if (isProblem && options.reference.empty() && options.imported.empty())
    return "--format=kernelbench needs --reference=FILE.py, the problem whose "
           "Model the winner replaces";
  if (isDefinition && options.definition.empty())
    return "--format=flashinfer needs --definition=FILE.json, the Definition "
           "that the winner solves";
  if (!isProblem && !options.reference.empty())
    return "--reference is for --format=kernelbench";
  if (!isDefinition && (!options.definition.empty() || !options.axes.empty()))
    return "--definition and --axis are for --format=flashinfer";
  if (!isProblem && !isDefinition &&
      (!options.imported.empty() || options.precision != Precision::ieee))
    return "--imported and --precision are for --format=kernelbench and "
           "--format=flashinfer: what other formats write is chosen by --key";
  return {};
}

int fastk::bank::exportWinners(const ExportOptions &options,
                               std::vector<Row> &rows) {
  switch (options.format) {
  case ExportFormat::Bank:
    return exportAsBank(options.to, rows);
  case ExportFormat::Cu:
  case ExportFormat::Torch:
    return exportEach(options, rows);
  case ExportFormat::KernelBench:
  case ExportFormat::FlashInfer:
    return exportForModel(options, rows);
  }
  llvm_unreachable("all formats are named above");
}
