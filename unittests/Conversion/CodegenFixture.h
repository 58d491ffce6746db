//===- CodegenFixture.h - Compile a pattern and call it ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_CONVERSION_CODEGENFIXTURE_H
#define FASTK_UNITTESTS_CONVERSION_CODEGENFIXTURE_H

#include "Host/HostPipeline.h"
#include "KernelHarness.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <optional>

namespace fastk::test {

/// A loaded kernel.
class Kernel {
public:
  explicit Kernel(void *entry) : entry(entry) {}

  /// Operands are copied to aligned memory and must come back unchanged;
  /// results are written where they point.
  void run(const std::vector<const void *> &inputs,
           const std::vector<void *> &outputs) {
    std::vector<void *> pointers;
    for (const void *input : inputs)
      pointers.push_back(const_cast<void *>(input));
    pointers.insert(pointers.end(), outputs.begin(), outputs.end());
    pointers.push_back(nullptr); // No workspace.
    call(pointers);
  }

  /// f32 operands, one result of `count` elements; `isDouble` when the kernel
  /// writes f64.
  std::vector<float> runF32(std::vector<std::vector<float>> inputs,
                            size_t count, bool isDouble = false) {
    auto before = inputs;
    std::vector<const void *> pointers;
    for (auto &input : inputs)
      pointers.push_back(input.data());
    std::vector<float> result(count, NAN);
    if (isDouble) {
      std::vector<double> wide(count, NAN);
      run(pointers, {wide.data()});
      result.assign(wide.begin(), wide.end());
    } else {
      run(pointers, {result.data()});
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(std::memcmp(inputs[i].data(), before[i].data(),
                            inputs[i].size() * sizeof(float)),
                0)
          << "operand " << i << " was written";
    return result;
  }

private:
  void call(const std::vector<void *> &p) {
    using V = void *;
    switch (p.size()) {
    case 2:
      return reinterpret_cast<void (*)(V, V)>(entry)(p[0], p[1]);
    case 3:
      return reinterpret_cast<void (*)(V, V, V)>(entry)(p[0], p[1], p[2]);
    case 4:
      return reinterpret_cast<void (*)(V, V, V, V)>(entry)(p[0], p[1], p[2],
                                                           p[3]);
    case 5:
      return reinterpret_cast<void (*)(V, V, V, V, V)>(entry)(p[0], p[1], p[2],
                                                              p[3], p[4]);
    case 6:
      return reinterpret_cast<void (*)(V, V, V, V, V, V)>(entry)(
          p[0], p[1], p[2], p[3], p[4], p[5]);
    default:
      FAIL() << "no kernel here has " << p.size() << " parameters";
    }
  }

  void *entry;
};

/// Compiles what it is given with the host's target.
class CodegenFixture : public testing::Test {
protected:
  CodegenFixture() : context(makeRegistry()), target(HostTarget::detect()) {
    context.loadDialect<FastkDialect>();
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerHostCodegen(registry);
    return registry;
  }

  /// The LLVM module of the first function of `text`, or null; what was said is
  /// in `errors`.
  std::unique_ptr<llvm::Module>
  compileToModule(llvm::StringRef text, KernelRole role = KernelRole::Program,
                  Language language = Language::generic,
                  llvm::StringRef program = "") {
    errors.clear();
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            errors += diagnostic.str() + "\n";
          return mlir::success();
        });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return nullptr;
    auto lowered =
        createLowering(*module, language, program,
                       language == Language::c ? "kernel.c" : "schedule.mlir");
    auto lowering = *lowered->getOps<LoweringOp>().begin();
    if (failed(mlir::verify(*lowered)))
      return nullptr;
    auto result = compileKernel(lowering, role, "kernel", llvmContext, target);
    return failed(result) ? nullptr : std::move(*result);
  }

  std::optional<Kernel> compile(llvm::StringRef text,
                                KernelRole role = KernelRole::Program,
                                Language language = Language::generic,
                                llvm::StringRef program = "") {
    auto module = compileToModule(text, role, language, program);
    if (!module) {
      ADD_FAILURE() << errors;
      return std::nullopt;
    }
    std::optional<Kernel> kernel = loadKernel(*module);
    if (!kernel) {
      ADD_FAILURE() << "no kernel in the library: " << errors;
      return std::nullopt;
    }
    return kernel;
  }

  /// @kernel of a module that is bufferized; nothing where it does not compile.
  std::optional<Kernel> compileBuffers(mlir::ModuleOp module) {
    if (failed(lowerToLLVMDialect(module, target, /*approximate=*/false)))
      return std::nullopt;
    auto compiled = mlir::translateModuleToLLVMIR(module, llvmContext, "loops");
    if (!compiled)
      return std::nullopt;
    attachTarget(*compiled, target);
    return loadKernel(*compiled);
  }

  /// Links and loads `module`, and finds its kernel.
  std::optional<Kernel> loadKernel(llvm::Module &module) {
    void *library = load(module);
    void *entry = library ? dlsym(library, "kernel") : nullptr;
    return entry ? std::optional(Kernel(entry)) : std::nullopt;
  }

  /// Links and loads `module`. The library stays: OpenMP's threads do.
  void *load(llvm::Module &module) {
    llvm::SmallString<128> path;
    if (llvm::sys::fs::createTemporaryFile("fastk-test", "so", path))
      return nullptr;
    if (failed(emitSharedLibrary(mlir::UnknownLoc::get(&context), module,
                                 target, path)))
      return nullptr;
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      errors += dlerror();
    (void)llvm::sys::fs::remove(path);
    return library;
  }

  std::string compileToObject(const std::string &text) {
    auto module = compileToModule(text);
    llvm::SmallString<128> path;
    if (!module || failed(optimizeModule(*module, target)) ||
        llvm::sys::fs::createTemporaryFile("fastk-test", "o", path) ||
        failed(
            emitObject(mlir::UnknownLoc::get(&context), *module, target, path)))
      return "";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    (void)llvm::sys::fs::remove(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  mlir::MLIRContext context;
  llvm::LLVMContext llvmContext;
  HostTarget target;
  std::string errors;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_CONVERSION_CODEGENFIXTURE_H
