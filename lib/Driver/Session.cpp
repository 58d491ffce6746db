//===- Session.cpp - A model, its banks and what is said ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Session.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/LoadModel.h"
#include "fastk/Transforms/RunPasses.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace fastk;

/// All that a model may hold, and all that its code is made of.
static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerFastkDialects(registry);
  registerHostCodegen(registry);
  registerCudaCodegen(registry);
  return registry;
}

Session::Session(llvm::raw_ostream &said)
    : said(said), context(makeRegistry()), handler(sourceMgr, &context, said) {
  // The source is shown with a caret; a whole function in generic form after it
  // would only bury the message.
  context.printOpOnDiagnostic(false);
}

/// `module` unless no pipeline can compile it.
static OwningOpRef<ModuleOp> checked(OwningOpRef<ModuleOp> module) {
  if (module && failed(checkModel(*module)))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> Session::load(StringRef path) {
  TimingScope parsing = timeStep("Parser");
  OwningOpRef<ModuleOp> module =
      llvm::sys::fs::is_directory(path)
          ? loadFolder(path, &context, said)
          : loadModel(path, sourceMgr, &context, said);
  parsing.stop();
  return checked(std::move(module));
}

OwningOpRef<ModuleOp> Session::loadText(StringRef text, StringRef name) {
  return checked(parseModel(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                            name, sourceMgr, &context));
}

llvm::Error Session::openBanks(WinnerOptions options) {
  // It refers to the banks.
  matcher.reset();
  llvm::Expected<BankStack> opened = BankStack::open(options.banks);
  if (!opened)
    return opened.takeError();
  banks.emplace(std::move(*opened));
  matcher.emplace(*banks, std::move(options.filter));
  fusion = options.fusion;
  return llvm::Error::success();
}

LogicalResult Session::form(ModuleOp module, WinnerQuery *scans) {
  return formWithWinners(module, fusion, *matcher, scans);
}

FailureOr<ApplySummary> Session::apply(ModuleOp module) {
  return applyBestWinners(module, fusion, *matcher);
}
