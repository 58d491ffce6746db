//===- Families.cpp - Families, and whether they are admitted -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Driver/FamilySamples.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/PlainText.h"
#include "fastk/Support/ShippedFolder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <fcntl.h>

using namespace fastk;
using llvm::StringRef;
using namespace fastk::bank;
using families::Family;

/// The families of a folder, which may be one itself.
static llvm::Expected<std::vector<Family>>
familiesOf(const std::string &folder) {
  if (!llvm::sys::fs::exists(folder + "/family.json"))
    return families::readFamilies(folder);
  llvm::Expected<Family> family = families::readFamily(folder);
  if (!family)
    return family.takeError();
  return std::vector<Family>{std::move(*family)};
}

/// A row for each class that it was tried in.
static void addRows(const Family &family, StringRef compiler,
                    mlir::MLIRContext &context,
                    std::vector<std::vector<std::string>> &table) {
  for (Precision accepts : triedClasses(family)) {
    llvm::Expected<families::Evidence> evidence =
        standingEvidence(family, accepts, compiler, &context);
    std::string speedup = evidence ? describeSpeedup(*evidence) : "-";
    std::string admission =
        inClass(accepts) + " " + describeAdmission(std::move(evidence));
    table.push_back({family.name, family.core, family.device(),
                     plainText(family.title), std::move(speedup),
                     plainText(StringRef(admission).ltrim())});
  }
}

int fastk::bank::listFamilies(std::vector<std::string> folders) {
  if (folders.empty())
    folders = {shippedFolder("families").value_or("families")};
  mlir::DialectRegistry registry;
  registerCanonicalFormDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string nvrtc = cuda::Nvrtc::versionHere(), clang = clangVersionHere();
  std::vector<std::vector<std::string>> table = {
      {"family", "core", "target", "title", "speedup", "evidence"}};
  for (const std::string &folder : folders) {
    llvm::Expected<std::vector<Family>> families = familiesOf(folder);
    if (!families)
      return reportError(llvm::toString(families.takeError()));
    if (families->empty())
      return reportError(folder + ": holds no family: a folder with "
                                  "family.json, plan.json and kernel.cu, or "
                                  "for the host with family.json and kernel.c");
    for (const Family &family : *families)
      addRows(family, family.isForHost() ? clang : nvrtc, context, table);
  }
  printTable(table, llvm::outs());
  return kExitDone;
}

/// Far above any program; a bound for a stray file.
static constexpr size_t kProgramLimit = 4 << 20;

int fastk::bank::extractFamily(const std::string &from, const std::string &to) {
  std::string file = from;
  if (llvm::sys::fs::is_directory(from)) {
    file += "/kernel.cu";
    if (std::string ofHost = from + "/kernel.c"; llvm::sys::fs::exists(ofHost))
      file = ofHost;
  }
  llvm::Expected<std::string> program =
      readRegularFile(AT_FDCWD, file, file, kProgramLimit);
  if (!program)
    return reportError(llvm::toString(program.takeError()));
  std::optional<Family> family = families::familyIn(*program);
  if (!family)
    return reportError(file + ": is no instance of a family: its program has "
                              "none in its comments");
  if (llvm::sys::fs::exists(to))
    return reportError(to + ": is there already; name a new folder");
  llvm::Error error = createDirectories(to);
  std::vector<std::pair<std::string, std::string>> files = {
      {"family.json",
       llvm::formatv("{0:2}\n", llvm::json::Value(families::rulesOf(*family)))
           .str()},
      {family->programFile().str(), family->program}};
  if (!family->isForHost())
    files.emplace_back("plan.json", family->plan);
  for (const auto &[name, text] : files)
    if (!error)
      error = writeNewFile(to + "/" + name, text);
  if (error)
    return reportError(llvm::toString(std::move(error)));
  llvm::outs() << "family " << family->name << " of the core " << family->core
               << ", written to " << to << "; fastk-opt --admit-family=" << to
               << " --target=" << family->device() << " judges it\n";
  return kExitDone;
}
