//===- EmitObject.cpp - LLVM IR to objects and shared libraries -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/LLVM/OptimizeLLVM.h"
#include "HostPipeline.h"
#include "fastk/Conversion/WriteFile.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/System/ProcessFolder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cerrno>

using namespace mlir;
using namespace fastk;

/// Codegen level and options of everything fastk emits. Null with a reason in
/// `error` when LLVM lacks the target.
static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const HostTarget &target, std::string &error) {
  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(target.triple);
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return nullptr;
  llvm::TargetOptions options;
  // a*b+c in one rounding is within the ieee class; what is marked `contract`
  // may become an FMA, nothing else is relaxed.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void fastk::attachTarget(llvm::Module &module, const HostTarget &target) {
  std::string error;
  if (auto machine = createTargetMachine(target, error)) {
    module.setTargetTriple(machine->getTargetTriple());
    module.setDataLayout(machine->createDataLayout());
  }
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBytes * 8));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

LogicalResult fastk::optimizeModule(llvm::Module &module,
                                    const HostTarget &target) {
  std::string error;
  auto machine = createTargetMachine(target, error);
  if (!machine)
    return failure();
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = true;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopUnrolling = true;
  // Before loops are vectorised; then what was made narrower since, as the
  // floor of a bf16 that was widened.
  bool byIntegers = !hasBFloatRounding(target);
  if (byIntegers)
    roundToBFloatByIntegers(module);
  optimizeLLVM(module, *machine, tuning);
  // Not before: it is undone there.
  convertBFloatAsFloat(module);
  if (byIntegers) {
    roundToBFloatByIntegers(module);
    defineBFloatCalls(module);
  }
  return success();
}

/// What went wrong, with the remedy; nothing where the file is written.
static std::string writeObject(llvm::Module &module, const HostTarget &target,
                               StringRef path,
                               function_ref<std::string(std::error_code)> why) {
  std::string error;
  auto machine = createTargetMachine(target, error);
  if (!machine)
    return "no code generator for '" + target.triple + "': " + error +
           "; install an LLVM that targets this machine";
  bool emitted = true;
  std::error_code code =
      writeFileAtomically(path, [&](llvm::raw_pwrite_stream &stream) {
        llvm::legacy::PassManager passes;
        emitted = !machine->addPassesToEmitFile(
            passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
        if (emitted)
          passes.run(module);
      });
  if (!emitted)
    return "'" + target.triple + "' cannot emit object files";
  return code ? why(code) : "";
}

static std::string cannotWrite(StringRef path, std::error_code code) {
  return llvm::toString(fileError(path, "write", code.value()));
}

LogicalResult fastk::emitObject(Location loc, llvm::Module &module,
                                const HostTarget &target, StringRef path) {
  std::string problem =
      writeObject(module, target, path, [&](std::error_code code) {
        return cannotWrite(path, code);
      });
  return problem.empty() ? success() : LogicalResult(emitError(loc) << problem);
}

std::string fastk::emitLLVMText(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

ArrayRef<std::string> fastk::hostLibraries(bool hasThreads) {
  // By the name that is installed without LLVM's own files, too.
  static const std::string libraries[] = {"-L/usr/lib/llvm-22/lib",
                                          "-l:libomp.so.5", "-lm"};
  return hasThreads ? ArrayRef(libraries) : ArrayRef(libraries).take_back();
}

/// The compiler that links, and how it is called: clang with lld, which give
/// the same bytes everywhere; where that is missing the system's with its own
/// linker.
static FailureOr<SmallVector<StringRef>> findLinker(Location loc,
                                                    std::string &path) {
  static constexpr StringLiteral kClang = "clang-22", kSystem = "cc";
  for (StringRef name : {kClang, kSystem})
    if (auto found = llvm::sys::findProgramByName(name)) {
      path = *found;
      SmallVector<StringRef> command = {name, "-shared"};
      if (name == kClang)
        command.push_back("-fuse-ld=lld");
      return command;
    }
  return emitError(loc) << "neither clang-22 nor cc is in PATH, and fastk "
                           "links with one of them: install clang-22";
}

LogicalResult fastk::checkLinker(Location loc) {
  std::string path;
  return findLinker(loc, path);
}

/// `text` with `by` in each place of `what`.
static void replaceAll(std::string &text, StringRef what, StringRef by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by);
}

/// What kept the linker, which said so much, from writing `path`; nothing where
/// that is not what went wrong. lld maps the file: where that has no room it
/// dies without saying so.
static std::error_code whyNotWritten(StringRef said, StringRef path,
                                     StringRef object) {
  for (int errnum : {ENOSPC, EDQUOT, EFBIG})
    if (std::error_code code(errnum, std::generic_category());
        said.contains(code.message()))
      return code;
  uint64_t bytes = 0;
  if (!said.contains("Bus error") || llvm::sys::fs::file_size(object, bytes))
    return {};
  StringRef folder = llvm::sys::path::parent_path(path);
  constexpr uint64_t kBesideTheObject = 64 << 10;
  return llvm::errorToErrorCode(
      checkFreeSpace(folder.empty() ? "." : folder, bytes + kBesideTheObject));
}

LogicalResult fastk::emitSharedLibrary(Location loc, llvm::Module &module,
                                       const HostTarget &target, StringRef path,
                                       ArrayRef<std::string> libraries,
                                       StringRef what, std::string *object) {
  std::string linker;
  FailureOr<SmallVector<StringRef>> found = findLinker(loc, linker);
  if (failed(found) || failed(optimizeModule(module, target)))
    return failure();
  ProcessFolder folder;
  if (std::error_code code = folder.create("fastk-link"))
    return emitError(loc) << explainTemporaryFileError(code);
  std::string file = folder.file("model.o"), log = folder.file("log");
  if (std::string problem =
          writeObject(module, target, file, explainTemporaryFileError);
      !problem.empty())
    return emitError(loc) << problem;
  if (object) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return emitError(loc) << explainTemporaryFileError(buffer.getError());
    *object = (*buffer)->getBuffer().str();
  }
  auto cannotWriteLibrary = [&](std::error_code code) {
    return what.empty() ? cannotWrite(path, code)
                        : explainTemporaryFileError(code);
  };
  FileBeside out(path);
  SmallVector<StringRef> &args = *found;
  // No build id: equal objects give equal bytes.
  // A function of the model may bear the name of one in the program or in libc:
  // what calls it here means it.
  args.append({"-Wl,--build-id=none", "-Wl,-Bsymbolic-functions", "-o",
               out.name(), file});
  // By their sonames: the loader finds them as it finds any library.
  args.append(libraries.begin(), libraries.end());
  std::string error;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(linker, args, std::nullopt, redirects,
                                         /*SecondsToWait=*/120, 0, &error);
  if (status != 0) {
    auto buffer = llvm::MemoryBuffer::getFile(log);
    StringRef all = buffer ? (*buffer)->getBuffer() : "";
    if (std::error_code code = whyNotWritten(all, out.name(), file))
      return emitError(loc) << cannotWriteLibrary(code);
    std::string said = all.take_front(2000).str();
    // What the user gave names to.
    replaceAll(said, out.name(), what.empty() ? path : what);
    replaceAll(said, folder.path() + "/", "");
    return emitError(loc) << "linking " << (what.empty() ? path : what)
                          << " failed: " << (error.empty() ? said : error);
  }
  if (std::error_code code = out.keep())
    return emitError(loc) << cannotWriteLibrary(code);
  return success();
}
