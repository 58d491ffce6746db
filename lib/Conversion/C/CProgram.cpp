//===- CProgram.cpp - C variants: what they may do, and their IR ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks look at what the compiler made of the program, not at its text:
// macros, digraphs and line splices cannot hide anything from LLVM IR. The
// program is data until all of them have passed.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/System/WholeFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fastk;

/// The function that a C variant defines.
static constexpr StringLiteral kEntry = "fastk_kernel";
/// Larger sources are no kernels; the compiler's time grows with them.
static constexpr size_t kMaxSourceBytes = 512 * 1024;
/// Seconds and megabytes that clang may take for one program.
static constexpr unsigned kCompileSeconds = 60;
static constexpr unsigned kCompileMegabytes = 4096;

static bool isAllowedHeader(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"math.h", "string.h", "stdint.h", "stddef.h", "stdbool.h"}, true)
      .Cases({"float.h", "limits.h", "omp.h", "immintrin.h"}, true)
      .Default(false);
}

/// Functions that a program may call without defining them.
static bool isAllowedExternal(StringRef name) {
  // What clang emits for parallel loops and critical sections. Not the ones
  // that keep memory between calls (__kmpc_threadprivate_cached, __kmpc_alloc).
  if (name.consume_front("__kmpc_"))
    return llvm::StringSwitch<bool>(name)
        .Cases({"barrier", "critical", "end_critical", "flush", "fork_call",
                "fork_call_if", "for_static_fini", "global_thread_num"},
               true)
        .Cases({"master", "end_master", "masked", "end_masked",
                "push_num_threads", "push_proc_bind", "reduce", "end_reduce",
                "reduce_nowait", "end_reduce_nowait"},
               true)
        .Cases({"serialized_parallel", "end_serialized_parallel", "single",
                "end_single"},
               true)
        .Default(name.starts_with("for_static_init_") ||
                 name.starts_with("dispatch_"));
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> set;
    for (StringRef plain :
         {"memcpy", "memset", "memmove", "memcmp", "omp_get_thread_num",
          "omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs",
          "omp_in_parallel"})
      set.insert(plain);
    // libm, each in double, float and long double.
    for (StringRef base :
         {"acos",    "acosh",     "asin",  "asinh",    "atan",      "atan2",
          "atanh",   "cbrt",      "ceil",  "copysign", "cos",       "cosh",
          "erf",     "erfc",      "exp",   "exp2",     "expm1",     "fabs",
          "fdim",    "floor",     "fma",   "fmax",     "fmin",      "fmod",
          "frexp",   "hypot",     "ilogb", "ldexp",    "lgamma",    "llrint",
          "llround", "log",       "log10", "log1p",    "log2",      "logb",
          "lrint",   "lround",    "modf",  "nan",      "nearbyint", "nextafter",
          "pow",     "remainder", "rint",  "round",    "scalbn",    "scalbln",
          "sin",     "sincos",    "sinh",  "sqrt",     "tan",       "tanh",
          "tgamma",  "trunc"})
      for (StringRef suffix : {"", "f", "l"})
        set.insert((base + suffix).str());
    return set;
  }();
  return names.contains(name);
}

/// Intrinsics that tell a program where, when or on what it runs, or let it
/// reach around the call it was given.
static bool isForbiddenIntrinsic(StringRef name) {
  for (StringRef part :
       {"llvm.returnaddress",     "llvm.addressofreturnaddress",
        "llvm.frameaddress",      "llvm.sponentry",
        "llvm.read_register",     "llvm.read_volatile_register",
        "llvm.write_register",    "llvm.readcyclecounter",
        "llvm.readsteadycounter", "llvm.get.dynamic",
        "llvm.init.trampoline",   "llvm.adjust.trampoline",
        "llvm.thread.pointer",    "llvm.eh.",
        "llvm.x86.rdtsc",         "llvm.x86.rdpmc",
        "llvm.x86.rdpid",         "llvm.x86.rdfsbase",
        "llvm.x86.rdgsbase",      "llvm.x86.wrfsbase",
        "llvm.x86.wrgsbase",      "llvm.x86.int",
        "llvm.x86.xbegin",        "llvm.x86.ldtilecfg",
        "llvm.x86.clflush",       "llvm.x86.clzero",
        "llvm.x86.flags",         "llvm.clear_cache"})
    if (name.starts_with(part))
      return true;
  return false;
}

/// True for the lock of an OpenMP critical section: its uses are the calls that
/// take and give it back, so that nothing else can be kept in it.
static bool isCriticalLock(const llvm::GlobalVariable &global) {
  return global.getName().starts_with(".gomp_critical_user_") &&
         llvm::all_of(global.users(), [](const llvm::User *user) {
           auto *call = dyn_cast<llvm::CallInst>(user);
           const llvm::Function *callee =
               call ? call->getCalledFunction() : nullptr;
           return callee && (callee->getName() == "__kmpc_critical" ||
                             callee->getName() == "__kmpc_end_critical");
         });
}

/// Why `module` is refused, or nothing.
static std::optional<std::string> findViolation(const llvm::Module &module,
                                                unsigned numPointers) {
  if (!module.getModuleInlineAsm().empty())
    return "has inline assembly at file scope; write C";
  if (!module.alias_empty())
    return "has an alias of a function or variable; define it once";
  if (!module.ifunc_empty())
    return "has an ifunc, which runs before the kernel; call the function "
           "directly";

  if (module.getNamedGlobal("llvm.global_ctors") ||
      module.getNamedGlobal("llvm.global_dtors"))
    return "has a constructor or destructor, which runs outside the kernel; "
           "remove the attribute";
  for (const llvm::GlobalVariable &global : module.globals()) {
    StringRef name = global.getName();
    if (name == "llvm.used" || name == "llvm.compiler.used")
      return "has the attribute 'used'; remove it";
    if (global.isThreadLocal())
      return ("has the thread-local variable '" + name +
              "'; keep state on the stack or in the workspace")
          .str();
    if (global.isDeclaration())
      return ("uses the external variable '" + name +
              "'; a kernel has its arguments only")
          .str();
    if (global.hasSection())
      return ("puts '" + name + "' into a section of its own; remove it").str();
    if (!global.isConstant() && !isCriticalLock(global))
      return ("has the mutable static variable '" + name +
              "', which would remember earlier calls; make it const, or use "
              "the stack or the workspace")
          .str();
    if (global.isConstant() && !global.hasLocalLinkage())
      return ("exports the variable '" + name + "'; make it static").str();
  }

  const llvm::Function *entry = module.getFunction(kEntry);
  if (!entry || entry->isDeclaration() || entry->hasLocalLinkage())
    return "does not define the function 'fastk_kernel'; it must, as "
           "`void fastk_kernel(...)`";
  if (!entry->getReturnType()->isVoidTy() || entry->isVarArg())
    return "defines 'fastk_kernel' with a result or a variable number of "
           "parameters; it must be `void` and take pointers";
  if (entry->arg_size() != numPointers)
    return ("defines 'fastk_kernel' with " + llvm::Twine(entry->arg_size()) +
            " parameters; the workload needs " + llvm::Twine(numPointers) +
            ": operands, results, workspace")
        .str();
  for (const llvm::Argument &argument : entry->args())
    if (!argument.getType()->isPointerTy())
      return ("defines 'fastk_kernel' with parameter " +
              llvm::Twine(argument.getArgNo()) +
              " that is no pointer; all parameters are pointers")
          .str();

  for (const llvm::Function &function : module) {
    StringRef name = function.getName();
    if (function.hasSection())
      return ("puts '" + name + "' into a section of its own; remove it").str();
    if (function.isIntrinsic()) {
      if (isForbiddenIntrinsic(name))
        return ("uses '" + name + "', which a kernel has no need of").str();
      continue;
    }
    if (function.isDeclaration()) {
      if (!isAllowedExternal(name))
        return ("calls the external function '" + name +
                "'; allowed are libm, memcpy, memset, memmove and OpenMP")
            .str();
      continue;
    }
    if (&function != entry && !function.hasLocalLinkage())
      return ("exports the function '" + name +
              "' besides 'fastk_kernel'; make it static")
          .str();
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call)
        continue;
      if (call->isInlineAsm())
        return ("has inline assembly in '" + name + "'; write C or intrinsics")
            .str();
      if (!call->getCalledFunction())
        return ("calls through a pointer in '" + name +
                "'; call functions by name")
            .str();
    }
  }
  return std::nullopt;
}

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// What clang said, without the temporary file's name, cut to a length that a
/// person or a repair prompt reads.
static std::string describeLog(StringRef log, StringRef sourcePath) {
  std::string text;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    // Lines of -H are dots and a path.
    if (line.starts_with("."))
      continue;
    std::string clean = line.str();
    for (size_t at; (at = clean.find(sourcePath.str())) != std::string::npos;)
      clean.replace(at, sourcePath.size(), "kernel.c");
    text += clean + "\n";
    if (text.size() > 4000)
      break;
  }
  return text;
}

FailureOr<std::string> fastk::findCCompiler(Location loc) {
  if (auto clang = llvm::sys::findProgramByName(kCCompiler))
    return *clang;
  return emitError(loc) << "clang-22 is not in PATH, and C variants are "
                           "compiled by it: install clang-22";
}

FailureOr<std::unique_ptr<llvm::Module>>
fastk::compileCProgram(Location loc, StringRef source, unsigned numPointers,
                       StringRef symbol, llvm::LLVMContext &context,
                       const HostTarget &target) {
  auto refuse = [&](const llvm::Twine &why) {
    emitError(loc) << "C program " << why << " (required by 'fastk.c_variant')";
    return failure();
  };
  if (source.size() > kMaxSourceBytes)
    return refuse("has " + llvm::Twine(source.size()) +
                  " bytes; the limit is " + llvm::Twine(kMaxSourceBytes));
  FailureOr<std::string> clang = findCCompiler(loc);
  if (failed(clang))
    return failure();

  ProcessFolder folder;
  std::error_code code = folder.create("fastk-kernel");
  std::string sourceFile = folder.file("kernel.c"),
              irFile = folder.file("kernel.ll"), logFile = folder.file("log");
  if (!code)
    code = writeWholeFile(sourceFile, source);
  if (code) {
    emitError(loc) << explainTemporaryFileError(code);
    return failure();
  }

  // Passes run later, the same for every language. -H names what is included.
  std::string march = "-march=" + target.cpu;
  StringRef args[] = {kCCompiler,
                      "-x",
                      "c",
                      "-std=gnu17",
                      "-O3",
                      march,
                      "-fopenmp",
                      "-ffp-contract=fast-honor-pragmas",
                      "-fno-math-errno",
                      "-fno-trapping-math",
                      "-fPIC",
                      "-Xclang",
                      "-disable-llvm-passes",
                      "-fno-ident",
                      "-S",
                      "-emit-llvm",
                      "-H",
                      "-o",
                      irFile,
                      sourceFile};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(logFile),
                                          StringRef(logFile)};
  std::string error;
  int status =
      llvm::sys::ExecuteAndWait(*clang, args, std::nullopt, redirects,
                                kCompileSeconds, kCompileMegabytes, &error);
  std::string log = readFile(logFile);
  SmallVector<StringRef> lines;
  StringRef(log).split(lines, '\n');
  for (StringRef line : lines)
    if (line.consume_front(". ")) {
      StringRef name = llvm::sys::path::filename(line.trim());
      bool system = line.starts_with("/usr/include/") ||
                    line.contains("/lib/clang/22/include/");
      if (!system || !isAllowedHeader(name))
        return refuse("includes '" + line.trim() +
                      "'; allowed are math.h, string.h, stdint.h, stddef.h, "
                      "stdbool.h, float.h, limits.h, omp.h and immintrin.h");
    }
  if (status == -2)
    return refuse("did not compile within " + llvm::Twine(kCompileSeconds) +
                  " s, or crashed the compiler: " + error);
  if (status != 0)
    return refuse("does not compile:\n" + describeLog(log, sourceFile));

  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseIRFile(irFile, diagnostic, context);
  if (!module)
    return refuse("made IR that does not parse: " + diagnostic.getMessage());
  if (auto why = findViolation(*module, numPointers))
    return refuse(*why);

  guardDivisions(*module);
  // The temporary file's name must not reach the output.
  module->setModuleIdentifier(symbol);
  module->setSourceFileName("kernel.c");
  llvm::Function *entry = module->getFunction(kEntry);
  entry->setName(symbol);
  for (llvm::Argument &argument : entry->args())
    argument.addAttr(llvm::Attribute::NoAlias);
  attachTarget(*module, target);
  return module;
}
