//===- KernelStrategyTest.cpp - How ops become kernels --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/KernelStrategy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fastk;

namespace {
struct KernelStrategyTest : testing::Test {
  KernelStrategyTest() {
    DialectRegistry registry;
    registerHostCodegen(registry);
    registerCudaDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The first structured op of a function `(memref, memref)`.
  linalg::GenericOp parse(StringRef body) {
    std::string text = R"(
      #id = affine_map<(i) -> (i)>
      #none = affine_map<(i) -> ()>
      func.func @f)" + body.str();
    module = parseSourceString<ModuleOp>(text, &context);
    linalg::GenericOp found;
    if (module)
      module->walk([&](linalg::GenericOp op) { found = op; });
    return found;
  }

  linalg::GenericOp parseElementwise() {
    return parse(R"((%x: memref<4096xf32>, %y: memref<4096xf32>) {
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.negf %a : f32
        linalg.yield %0 : f32
      }
      return
    })");
  }

  /// The names of those that take `op`, in the order in which they are asked.
  std::vector<std::string> takers(Operation *op) {
    std::vector<std::string> names;
    for (const KernelStrategyEntry &entry : kernelStrategies())
      if (entry.match(op, facts()))
        names.push_back(entry.name.str());
    return names;
  }

  std::unique_ptr<KernelStrategy> match(StringRef name, Operation *op) {
    const KernelStrategyEntry *entry = findKernelStrategy(name);
    return entry ? entry->match(op, facts()) : nullptr;
  }

  KernelContext facts() { return {CudaTarget::parse("cuda:sm_90a")->limits}; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(KernelStrategyTest, TheFirstThatTakesAnOpIsTheMostSpecial) {
  linalg::GenericOp elementwise = parseElementwise();
  ASSERT_TRUE(elementwise);
  EXPECT_EQ(takers(elementwise),
            (std::vector<std::string>{"vectors", "points"}));
  linalg::GenericOp sum = parse(R"((%x: memref<4096xf32>, %y: memref<f32>) {
      linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
        ins(%x : memref<4096xf32>) outs(%y : memref<f32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.addf %a, %o : f32
        linalg.yield %0 : f32
      }
      return
    })");
  ASSERT_TRUE(sum);
  EXPECT_EQ(takers(sum),
            (std::vector<std::string>{"reduction", "shared points", "points"}));
}

TEST_F(KernelStrategyTest, WhatIsDecidedIsEmitted) {
  linalg::GenericOp op = parseElementwise();
  ASSERT_TRUE(op);
  auto strategy = match("vectors", op);
  ASSERT_TRUE(strategy);
  KernelChoices choices({{"vector_threads", 64}});
  choices.begin("vectors");
  ASSERT_TRUE(succeeded(strategy->decide(choices)));
  std::map<std::string, int64_t> decided = {
      {"vector_count", 1}, {"vector_threads", 64}, {"vector_width", 4}};
  EXPECT_EQ(choices.kernels().back().choices, decided);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto device = gpu::GPUModuleOp::create(builder, module->getLoc(), "device");
  FailureOr<KernelSequence> made = strategy->emit(device, 5);
  ASSERT_TRUE(succeeded(made));
  ASSERT_EQ(made->kernels.size(), 1u);
  const DeviceKernel &kernel = made->kernels.front();
  EXPECT_EQ(kernel.name, "k5");
  EXPECT_EQ(kernel.threads, 64);
  EXPECT_EQ(kernel.blocks, 4096 / 4 / 64);
  EXPECT_TRUE(device.lookupSymbol<gpu::GPUFuncOp>("k5"));
}

TEST_F(KernelStrategyTest, ARefusedNumberHasAReason) {
  linalg::GenericOp op = parseElementwise();
  ASSERT_TRUE(op);
  auto strategy = match("vectors", op);
  ASSERT_TRUE(strategy);
  KernelChoices choices({{"vector_width", 16}});
  choices.begin("vectors");
  EXPECT_TRUE(failed(strategy->decide(choices)));
  EXPECT_EQ(choices.problem().str(),
            "'fastk.vector_width' is wider than memory allows: 16 of at most "
            "4");
}

/// In the table of docs/cuda.md, in the order in which they are asked.
TEST_F(KernelStrategyTest, AllAreDocumented) {
  llvm::SmallString<128> path(FASTK_SOURCE_DIR);
  llvm::sys::path::append(path, "docs", "cuda.md");
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(text) << path.str().str();
  StringRef list = (*text)->getBuffer();
  list = list.slice(list.find("<!-- strategies -->"),
                    list.find("<!-- end strategies -->"));
  std::string names, documented;
  for (const KernelStrategyEntry &entry : kernelStrategies())
    names += entry.name.str() + "\n";
  SmallVector<StringRef> lines;
  list.split(lines, '\n');
  for (StringRef line : lines)
    if (line.consume_front("| `"))
      documented += line.split('`').first.str() + "\n";
  EXPECT_EQ(names, documented);
}
