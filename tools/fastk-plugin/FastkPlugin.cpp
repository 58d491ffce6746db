//===- FastkPlugin.cpp - fastk's passes for any mlir-opt ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --load-pass-plugin and --load-dialect-plugin load. MLIR and LLVM are
// those of the program that loads it: a second copy would have registries and
// type ids of its own. So none is linked, and the one that is there is checked.
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/Bufferization.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm-c/Core.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/WithColor.h"

// A program that links LLVM statically may have left it out.
#pragma weak LLVMGetVersion

using namespace fastk;

/// False, with the reason on standard error, in a program of another MLIR:
/// MLIR's own check of plugins knows no versions of its C++ interface.
static bool fitsThisProgram() {
  if (!LLVMGetVersion)
    return true;
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  if (major == LLVM_VERSION_MAJOR && minor == LLVM_VERSION_MINOR)
    return true;
  llvm::WithColor::error(llvm::errs(), "FastkPlugin")
      << "is built for MLIR " << LLVM_VERSION_MAJOR << "." << LLVM_VERSION_MINOR
      << ", and this program has " << major << "." << minor
      << ": load it into mlir-opt-" << LLVM_VERSION_MAJOR
      << ", or build fastk with this program's MLIR\n";
  return false;
}

/// A program that has fastk already, as fastk-opt, keeps its own.
static void warnOfSecond(llvm::StringRef what) {
  llvm::WithColor::warning(llvm::errs(), "FastkPlugin")
      << "this program has fastk's " << what
      << " already, and keeps them; leave the plugin out\n";
}

static void addPasses() {
  if (mlir::PassInfo::lookup("fastk-form-workloads"))
    return warnOfSecond("passes");
  registerFastkPasses();
  registerFastkConversionPasses();
  registerConversionPipelines();
  registerSearchPass();
}

static void addDialects(mlir::DialectRegistry *registry) {
  if (registry->getDialectAllocator(FastkDialect::getDialectNamespace()))
    return warnOfSecond("dialects");
  registry->insert<FastkDialect, tm_tensor::TMTensorDialect>();
  registerFastkBufferization(*registry);
}

/// MLIR refuses a plugin of interface 0.
static uint32_t interfaceVersion() {
  return fitsThisProgram() ? MLIR_PLUGIN_API_VERSION : 0;
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {interfaceVersion(), "fastk", FASTK_VERSION, addPasses};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {interfaceVersion(), "fastk", FASTK_VERSION, addDialects};
}
