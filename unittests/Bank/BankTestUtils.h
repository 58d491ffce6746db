//===- BankTestUtils.h - Winners and folders for tests ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_BANK_BANKTESTUTILS_H
#define FASTK_UNITTESTS_BANK_BANKTESTUTILS_H

#include "fastk/Bank/Bank.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Support/Sha256.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace fastk::test {

/// A folder that goes with the test, on the disk.
class TemporaryFolder {
public:
  TemporaryFolder() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("fastk-test", path));
  }
  /// One below `parent`.
  explicit TemporaryFolder(llvm::StringRef parent) {
    path = parent;
    llvm::sys::path::append(path, "fastk-test-XXXXXX");
    EXPECT_NE(mkdtemp(const_cast<char *>(path.c_str())), nullptr);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path); }
  std::string str() const { return path.str().str(); }
  std::string file(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
};

/// One in memory where the system has that: a killed process loses nothing that
/// it wrote, flushed or not, and thousands of flushes take no time.
class MemoryFolder : public TemporaryFolder {
public:
  MemoryFolder()
      : TemporaryFolder(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") {}
};

inline std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void writeAll(const std::string &path, llvm::StringRef content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content.str();
}

/// A context with the dialects that the tests' patterns use.
struct TestContext {
  TestContext() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<FastkDialect, mlir::arith::ArithDialect,
                        mlir::tensor::TensorDialect>();
  }
  /// A `default` lowering of x + x on `size` floats.
  mlir::OwningOpRef<mlir::ModuleOp> workload(int64_t size) {
    mlir::OpBuilder b(&context);
    mlir::Location loc = b.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    auto type = mlir::RankedTensorType::get({size}, b.getF32Type());
    mlir::OperationState state(loc, LoweringOp::getOperationName());
    auto *pattern = state.addRegion();
    state.addRegion();
    auto *block = b.createBlock(pattern, {}, {type}, {loc});
    mlir::Value sum = mlir::arith::AddFOp::create(b, loc, block->getArgument(0),
                                                  block->getArgument(0));
    YieldOp::create(b, loc, mlir::ValueRange(sum));
    state.addAttribute("sym_name", b.getStringAttr("w_"));
    state.addAttribute("key", b.getStringAttr(""));
    state.addAttribute("format_version",
                       b.getI64IntegerAttr(LoweringOp::kFormatVersion));
    state.addAttribute("target", b.getStringAttr("host"));
    state.addAttribute("language",
                       LanguageAttr::get(&context, Language::generic));
    auto lowering = llvm::cast<LoweringOp>(mlir::Operation::create(state));
    module->getBody()->push_back(lowering);
    std::string key = computeKey(lowering.getPattern());
    lowering.setKey(key);
    lowering.setSymName(LoweringOp::symbolForKey(key));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    return module;
  }
  static LoweringOp loweringOf(mlir::ModuleOp module) {
    return *module.getOps<LoweringOp>().begin();
  }

  mlir::MLIRContext context;
};

inline WinnerRecord makeRecord(double medianNs) {
  WinnerRecord record;
  record.name = "add";
  record.ideaId = "test/idea";
  record.category = "compute and instructions";
  record.title = "add \"twice\"";
  record.text = "A line\nand a pattern { in it.";
  record.machine = "test machine";
  record.threads = 2;
  record.medianNs = medianNs;
  record.baselineNs = 1000;
  record.speedup = 1000 / medianNs;
  record.floorNs = 10;
  record.errors = {{"normal", 1.25e-7}, {"wide range", 0.1}};
  record.parameters = {{"mr", 6}, {"nr", 16}};
  record.mlirVersion = LLVM_VERSION_STRING;
  record.fastkVersion = "0.1.0";
  return record;
}

/// What a compile on the machine of makeRecord() accepts.
inline WinnerFilter accepting(Precision loosest = Precision::ieee,
                              llvm::StringRef target = "host") {
  return {target.str(), loosest, makeRecord(1).getMachine(),
          /*anyMachine=*/false};
}

/// A winner for x + x on `size` floats whose program contains `tag`.
inline mlir::OwningOpRef<mlir::ModuleOp>
makeWinner(TestContext &context, int64_t size, double medianNs,
           llvm::StringRef tag = "", Precision precision = Precision::ieee,
           llvm::StringRef target = "host") {
  mlir::OwningOpRef<mlir::ModuleOp> workload = context.workload(size);
  WinnerRecord record = makeRecord(medianNs);
  record.shapes = describeShapes(TestContext::loweringOf(*workload));
  std::string program =
      "void fastk_kernel(void) {} // " + tag.str() + std::to_string(medianNs);
  return buildWinner(TestContext::loweringOf(*workload), Language::c, program,
                     64, target, precision, record);
}

inline std::string keyOf(TestContext &context, int64_t size) {
  return TestContext::loweringOf(*context.workload(size)).getKey().str();
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_BANK_BANKTESTUTILS_H
