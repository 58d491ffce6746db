//===- KernelRunner.cpp - Compiles a kernel and compares it ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "../../Families/WithNumbers.h"
#include "Interpreter.h"

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <thread>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

namespace {
struct Prepared {
  const KernelCase *test = nullptr;
  OwningOpRef<ModuleOp> module;
  Block *block = nullptr;
  catalog::CKernel kernel;
  std::string file, error;
};

/// A buffer with guards before and behind that must not change.
class Guarded {
public:
  explicit Guarded(size_t bytes) : size(bytes) {
    storage.assign(bytes + 2 * kGuard + 64, 0xA5);
    size_t at = reinterpret_cast<size_t>(storage.data()) + kGuard;
    start = (at + 63) / 64 * 64 - reinterpret_cast<size_t>(storage.data());
  }
  char *data() { return reinterpret_cast<char *>(storage.data()) + start; }
  bool intact() const {
    for (size_t i = 0; i < start; ++i)
      if (storage[i] != 0xA5)
        return false;
    for (size_t i = start + size; i < storage.size(); ++i)
      if (storage[i] != 0xA5)
        return false;
    return true;
  }

private:
  static constexpr size_t kGuard = 4096;
  size_t size, start;
  std::vector<unsigned char> storage;
};

size_t bytesOf(Type type) {
  return type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8;
}

void writeElement(char *p, Type type, double v) {
  if (type.isF32()) {
    float f = float(v);
    memcpy(p, &f, 4);
  } else if (type.isF64()) {
    memcpy(p, &v, 8);
  } else if (type.isF16()) {
    _Float16 h = _Float16(v);
    memcpy(p, &h, 2);
  } else if (bytesOf(type) == 8) {
    int64_t i = int64_t(v);
    memcpy(p, &i, 8);
  } else if (bytesOf(type) == 4) {
    int32_t i = int32_t(v);
    memcpy(p, &i, 4);
  } else {
    *p = char(v);
  }
}

double readElement(const char *p, Type type) {
  if (type.isF32()) {
    float f;
    memcpy(&f, p, 4);
    return f;
  }
  if (type.isF64()) {
    double d;
    memcpy(&d, p, 8);
    return d;
  }
  if (type.isF16()) {
    _Float16 h;
    memcpy(&h, p, 2);
    return double(h);
  }
  if (bytesOf(type) == 8) {
    int64_t i;
    memcpy(&i, p, 8);
    return double(i);
  }
  if (bytesOf(type) == 4) {
    int32_t i;
    memcpy(&i, p, 4);
    return i;
  }
  return *reinterpret_cast<const unsigned char *>(p);
}

void compile(Prepared &p) {
  auto clang = llvm::sys::findProgramByName("clang-22");
  if (!clang) {
    p.error = "clang-22 is not on the path";
    return;
  }
  std::string source = p.file + ".c", object = p.file + ".so",
              log = p.file + ".log";
  {
    std::error_code ec;
    llvm::raw_fd_ostream os(source, ec);
    os << withNumbers(p.kernel.source);
  }
  std::optional<llvm::StringRef> redirects[] = {
      std::nullopt, llvm::StringRef(log), llvm::StringRef(log)};
  int rc = llvm::sys::ExecuteAndWait(
      *clang,
      {*clang, "-O1", "-march=native", "-fopenmp",
       "-ffp-contract=fast-honor-pragmas", "-fno-math-errno", "-Wall",
       "-Werror", "-shared", "-fPIC", source, "-o", object, "-lm"},
      std::nullopt, redirects);
  if (rc != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    p.error = "clang refuses the kernel: " +
              (text ? (*text)->getBuffer().take_front(1500).str() : "");
  }
}

void run(Prepared &p) {
  Block &block = *p.block;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(-p.test->range, p.test->range);
  std::vector<Array> inputs;
  std::vector<std::unique_ptr<Guarded>> buffers;
  std::vector<void *> pointers;
  for (BlockArgument arg : block.getArguments()) {
    auto type = cast<RankedTensorType>(arg.getType());
    Type element = type.getElementType();
    Array array;
    array.shape.assign(type.getShape().begin(), type.getShape().end());
    buffers.push_back(
        std::make_unique<Guarded>(type.getNumElements() * bytesOf(element)));
    char *data = buffers.back()->data();
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      double v = draw(random);
      if (element.isInteger(1))
        v = v > 0;
      else if (isa<IntegerType>(element))
        v = std::floor(v * 100);
      char *at = data + i * bytesOf(element);
      writeElement(at, element, v);
      array.data.push_back(readElement(at, element));
    }
    inputs.push_back(array);
    pointers.push_back(data);
  }
  std::string error;
  std::vector<Array> expected = interpret(block, inputs, error);
  ASSERT_EQ(error, "") << "the interpreter does not know this op";
  size_t firstOut = buffers.size();
  auto results = block.getTerminator()->getOperandTypes();
  for (Type type : results) {
    auto tensor = cast<RankedTensorType>(type);
    size_t bytes = tensor.getNumElements() * bytesOf(tensor.getElementType());
    buffers.push_back(std::make_unique<Guarded>(bytes));
    memset(buffers.back()->data(), 0xFF, bytes); // NaN
    pointers.push_back(buffers.back()->data());
  }
  buffers.push_back(std::make_unique<Guarded>(p.kernel.workspaceBytes));
  memset(buffers.back()->data(), 0xFF, p.kernel.workspaceBytes);
  pointers.push_back(buffers.back()->data());

  void *library = dlopen((p.file + ".so").c_str(), RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  void *f = dlsym(library, "fastk_kernel");
  ASSERT_TRUE(f);
  pointers.resize(20, nullptr);
  auto call = reinterpret_cast<void (*)(
      void *, void *, void *, void *, void *, void *, void *, void *, void *,
      void *, void *, void *, void *, void *, void *, void *, void *, void *,
      void *, void *)>(f);
  auto &q = pointers;
  // Twice: nothing may depend on what the workspace or the result held.
  for (int i = 0; i < 2; ++i)
    call(q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8], q[9], q[10],
         q[11], q[12], q[13], q[14], q[15], q[16], q[17], q[18], q[19]);
  dlclose(library);

  for (auto &buffer : buffers)
    EXPECT_TRUE(buffer->intact()) << "the kernel wrote outside of a buffer";
  for (size_t r = 0; r < expected.size(); ++r) {
    Type element = cast<RankedTensorType>(results[r]).getElementType();
    // Values are of order one: see the generators.
    double relative = element.isF16() ? 7e-4 : element.isF64() ? 1e-13 : 4e-6;
    const char *data = buffers[firstOut + r]->data();
    size_t wrong = 0;
    for (size_t i = 0; i < expected[r].data.size(); ++i) {
      double want = expected[r].data[i],
             got = readElement(data + i * bytesOf(element), element);
      bool same = want == got || (want != want && got != got) ||
                  std::fabs(want - got) <= relative * (0.5 + std::fabs(want));
      if (!same && ++wrong <= 3)
        ADD_FAILURE() << "result " << r << " element " << i << ": " << got
                      << " instead of " << want;
    }
    EXPECT_EQ(wrong, 0u) << "of " << expected[r].data.size();
  }
}

/// Parses the text and makes every named op a generic: the interpreter knows no
/// others.
void parse(Prepared &p, MLIRContext &context) {
  p.module = parseSourceString<ModuleOp>(p.test->text, &context);
  if (!p.module)
    return;
  auto function = *p.module->getOps<func::FuncOp>().begin();
  llvm::SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()))
      named.push_back(op);
  });
  IRRewriter rewriter(&context);
  for (auto op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return;
  }
  p.block = &function.getBody().front();
}
} // namespace

catalog::StageFamilies &fastk::test::shippedFamilies() {
  static catalog::StageFamilies families =
      llvm::cantFail(catalog::StageFamilies::shipped());
  return families;
}

void fastk::test::checkKernels(const std::vector<KernelCase> &cases) {
  MLIRContext context;
  context.loadDialect<FastkDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      tensor::TensorDialect>();
  std::vector<Prepared> prepared(cases.size());
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fastk-catalog", folder));
  for (size_t i = 0; i < cases.size(); ++i) {
    Prepared &p = prepared[i];
    p.test = &cases[i];
    p.file = (folder + "/k" + llvm::Twine(i)).str();
    p.block = cases[i].block;
    if (!p.block)
      parse(p, context);
    ASSERT_TRUE(p.block) << cases[i].text;
    if (!cases[i].program.empty()) {
      p.kernel.source = cases[i].program;
      p.kernel.workspaceBytes = cases[i].workspaceBytes;
      continue;
    }
    catalog::Machine machine;
    machine.vectorBytes = cases[i].vectorBytes;
    machine.threads = cases[i].threads;
    machine.l2Bytes = 1 << 20;
    p.kernel = catalog::emitCKernel(*p.block, machine, cases[i].parameters,
                                    shippedFamilies());
    if (p.kernel.source.empty())
      p.error = "not emitted: " + p.kernel.failure;
  }
  std::vector<std::thread> workers;
  for (size_t t = 0; t < 2; ++t)
    workers.emplace_back([&, t] {
      for (size_t i = t; i < prepared.size(); i += 2)
        if (prepared[i].error.empty())
          compile(prepared[i]);
    });
  for (std::thread &worker : workers)
    worker.join();
  for (Prepared &p : prepared) {
    std::string description = p.test->name;
    for (auto &[name, value] : p.kernel.parameters)
      description += " " + name + "=" + std::to_string(value);
    SCOPED_TRACE(description);
    if (!p.test->notEmitted.empty()) {
      EXPECT_EQ(p.error, "not emitted: " + p.test->notEmitted);
      continue;
    }
    if (!p.error.empty()) {
      ADD_FAILURE() << p.error;
      continue;
    }
    if (!p.test->stage.empty())
      EXPECT_TRUE(llvm::is_contained(p.kernel.stages, p.test->stage))
          << "no stage is a " << p.test->stage;
    run(p);
  }
  if (!::testing::Test::HasFailure())
    llvm::sys::fs::remove_directories(folder);
  else
    llvm::errs() << "kernels are kept in " << folder << "\n";
}
