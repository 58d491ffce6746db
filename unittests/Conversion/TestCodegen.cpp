//===- TestCodegen.cpp - Compiles one pattern: for tests and benchmarks ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module whose first function is taken as a pattern, makes a lowering
// of it and compiles that. Not installed; the compiler driver is fastk-opt.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::desc("<input.mlir>"));
static llvm::cl::opt<std::string> output("o", llvm::cl::init("-"));
static llvm::cl::opt<std::string> emit("emit", llvm::cl::init("llvm"));
static llvm::cl::opt<std::string> program("program");
static llvm::cl::opt<bool> oracle("oracle");
static llvm::cl::opt<bool> wholeModel("model");
static llvm::cl::opt<bool> optimize("optimize");
static llvm::cl::opt<bool> timing("timing");
static llvm::cl::opt<bool> remarks("remarks");
static llvm::cl::opt<bool>
    listOps("list-ops",
            llvm::cl::desc("print the name of every op of every dialect that "
                           "models may hold, and end"));

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "fastk's codegen, for tests\n");
  DialectRegistry registry;
  registerHostCodegen(registry);
  MLIRContext context(registry);
  context.loadDialect<FastkDialect>();
  if (listOps) {
    context.loadAllAvailableDialects();
    for (RegisteredOperationName op : context.getRegisteredOperations())
      llvm::outs() << op.getStringRef() << "\n";
    return 0;
  }
  if (remarks) {
    remark::RemarkCategories categories{"fastk", "fastk", "fastk", "fastk",
                                        "fastk"};
    if (failed(remark::enableOptimizationRemarks(
            context, nullptr,
            std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
            /*printAsEmitRemarks=*/true)))
      return 1;
  }
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module)
    return 1;
  HostTarget target = HostTarget::detect();
  if (emit == "schedule") {
    PassManager passes(&context);
    FastkDefaultSchedulePassOptions options;
    options.vectorBytes = target.vectorBytes;
    passes.addNestedPass<func::FuncOp>(createFastkDefaultSchedulePass(options));
    if (failed(passes.run(*module)))
      return 1;
    module->print(llvm::outs());
    return 0;
  }
  llvm::LLVMContext llvmContext;
  double start = now();
  FailureOr<std::unique_ptr<llvm::Module>> compiled = failure();
  OwningOpRef<ModuleOp> lowered;
  if (wholeModel) {
    compiled = compileModel(*module, llvmContext, target);
  } else {
    std::string source;
    Language language = Language::generic;
    if (!program.empty()) {
      auto file = llvm::MemoryBuffer::getFile(program);
      if (!file) {
        llvm::errs() << "cannot read " << program << "\n";
        return 1;
      }
      source = (*file)->getBuffer().str();
      language =
          StringRef(program).ends_with(".c") ? Language::c : Language::schedule;
    }
    lowered = test::createLowering(*module, language, source, program);
    auto lowering = *lowered->getOps<LoweringOp>().begin();
    compiled = compileKernel(lowering,
                             oracle ? KernelRole::Oracle : KernelRole::Program,
                             "fastk_kernel", llvmContext, target);
  }
  if (failed(compiled))
    return 1;
  double middle = now();
  Location loc = UnknownLoc::get(&context);
  LogicalResult result = success();
  if (emit == "so") {
    result = emitSharedLibrary(loc, **compiled, target, output);
  } else if (emit == "llvm") {
    if (optimize)
      result = optimizeModule(**compiled, target);
    std::error_code code;
    llvm::raw_fd_ostream stream(output, code);
    stream << emitLLVMText(**compiled);
  }
  if (timing)
    llvm::errs() << llvm::format("to LLVM IR %.3f s, to code %.3f s\n",
                                 middle - start, now() - middle);
  return failed(result);
}
