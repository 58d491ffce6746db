//===- RepeatLoopsTest.cpp - Loops that a plan repeats, on the host -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that was brought into the form of a GPU's plan still runs on the
// host: so what loops carry is tested where there is no GPU, against the same
// loops written out.
//
//===----------------------------------------------------------------------===//

#include "Cuda/Loops/RepeatLoops.h"
#include "CodegenFixture.h"
#include "Host/HostPipeline.h"
#include "fastk/Analysis/PlanLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

namespace {
struct RepeatLoopsTest : CodegenFixture {
  std::optional<Kernel> compileLoops(StringRef text, bool isRepeated) {
    loadHostDialects(&context);
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return std::nullopt;
    auto func = *module->getOps<func::FuncOp>().begin();
    func.setName("kernel");
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) {
      EXPECT_TRUE(canBePlanLoop(loop));
      loops.push_back(loop);
    });
    if (isRepeated)
      prepareLoops(func);
    else
      for (scf::ForOp loop : loops)
        EXPECT_TRUE(succeeded(loopUnrollFull(loop)));
    if (failed(bufferizeFunctions(*module)))
      return std::nullopt;
    if (isRepeated) {
      if (failed(placeCarriedBuffers(func)) || failed(planLoopBuffers(func)))
        return std::nullopt;
      checkForm(func);
    }
    return compileBuffers(*module);
  }

  /// A repeat carries and allocates nothing, and counts its iterations.
  void checkForm(func::FuncOp func) {
    EXPECT_TRUE(succeeded(verify(func)));
    unsigned loops = 0;
    copiesInLoops = 0;
    func.walk([&](scf::ForOp loop) {
      if (!isPlanLoop(loop))
        return;
      ++loops;
      for (Operation &op : *loop.getBody())
        copiesInLoops += isa<memref::CopyOp>(op);
      EXPECT_EQ(loop.getNumResults(), 0u);
      EXPECT_EQ(getConstantIntValue(loop.getLowerBound()), 0);
      EXPECT_EQ(getConstantIntValue(loop.getStep()), 1);
      EXPECT_TRUE(loop.getBody()->getOps<memref::AllocOp>().empty());
    });
    EXPECT_GT(loops, 0u);
  }

  unsigned copiesInLoops = 0;

  /// Results of f32 on operands of counting numbers, both ways.
  void expectSame(StringRef text, const std::vector<size_t> &inputSizes,
                  const std::vector<size_t> &outputSizes) {
    auto plain = compileLoops(text, false), repeated = compileLoops(text, true);
    ASSERT_TRUE(plain && repeated);
    std::vector<std::vector<float>> inputs;
    for (size_t size : inputSizes)
      for (auto &input = inputs.emplace_back(); input.size() < size;)
        input.push_back(0.25f * float(input.size() + 1) - float(inputs.size()));
    std::vector<const void *> operands;
    for (auto &input : inputs)
      operands.push_back(input.data());
    auto run = [&](Kernel &kernel) {
      std::vector<std::vector<float>> results;
      std::vector<void *> pointers;
      for (size_t size : outputSizes)
        results.emplace_back(size, NAN);
      for (auto &result : results)
        pointers.push_back(result.data());
      kernel.run(operands, pointers);
      return results;
    };
    auto want = run(*plain), got = run(*repeated);
    EXPECT_EQ(got, want);
    for (auto &result : want)
      for (float value : result)
        EXPECT_FALSE(std::isnan(value));
  }
};
} // namespace

/// A state that the next step reads, and results in slices from the last on.
TEST_F(RepeatLoopsTest, ARecurrenceFromBehind) {
  for (const char *steps : {"5", "8"}) {
    std::string text = R"(
func.func @f(%x: tensor<8x4xf32>, %s: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %n = arith.constant STEPS : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %o = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %o, %h = %s) -> (tensor<8x4xf32>, tensor<4xf32>) {
    %t = arith.subi %c7, %i : index
    %row = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
    %m = tensor.empty() : tensor<4xf32>
    %new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%row, %h : tensor<4xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %half = arith.constant 0.5 : f32
      %p = arith.mulf %b, %half : f32
      %q = arith.addf %a, %p : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    %w = tensor.insert_slice %new into %out[%t, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>
    scf.yield %w, %new : tensor<8x4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<8x4xf32>, tensor<4xf32>
})";
    text.replace(text.find("STEPS"), 5, steps);
    expectSame(text, {32, 4}, {32, 4});
  }
}

/// The next state is read out of the row of all results that it was written to,
/// unless somebody changes either of them.
TEST_F(RepeatLoopsTest, StatesThatAreRows) {
  for (const char *time : {"%i", "%t"})
    for (bool isChanged : {false, true}) {
      std::string text = R"(
func.func @f(%x: tensor<6x4xf32>, %s: tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %n = arith.constant 6 : index
  %e = tensor.empty() : tensor<6x4xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %e, %h = %s) -> (tensor<6x4xf32>, tensor<4xf32>) {
    %t = arith.subi %c5, %i : index
    %row = tensor.extract_slice %x[TIME, 0] [1, 4] [1, 1] : tensor<6x4xf32> to tensor<4xf32>
    // In memory of its own, as a call's result is.
    %m = bufferization.alloc_tensor() : tensor<4xf32>
    %new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%row, %h : tensor<4xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %half = arith.constant 0.5 : f32
      %p = arith.mulf %b, %half : f32
      %q = arith.addf %a, %p : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    %w = tensor.insert_slice %new into %out[TIME, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<6x4xf32>
    scf.yield %w, %new : tensor<6x4xf32>, tensor<4xf32>
  }
  CHANGE
  %u = tensor.empty() : tensor<6x4xf32>
  %v = tensor.empty() : tensor<4xf32>
  %all = linalg.exp ins(RESULT : tensor<6x4xf32>) outs(%u : tensor<6x4xf32>) -> tensor<6x4xf32>
  %last = linalg.exp ins(%r#1 : tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  return %all, %last : tensor<6x4xf32>, tensor<4xf32>
})";
      auto put = [&](const std::string &name, const std::string &value) {
        for (size_t at = text.find(name); at != text.npos; at = text.find(name))
          text.replace(at, name.size(), value);
      };
      put("TIME", time);
      put("CHANGE",
          isChanged ? "%changed = linalg.add ins(%r#0, %x : tensor<6x4xf32>, "
                      "tensor<6x4xf32>) outs(%r#0 : tensor<6x4xf32>) -> "
                      "tensor<6x4xf32>"
                    : "");
      put("RESULT", isChanged ? "%changed" : "%r#0");
      expectSame(text, {24, 4}, {24, 4});
      EXPECT_EQ(copiesInLoops, isChanged ? 1u : 0u);
    }
}

/// Values that change places, one that goes through all, one that comes from
/// outside: none is overwritten before it is read.
TEST_F(RepeatLoopsTest, ValuesThatChangePlaces) {
  expectSame(R"(
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %z:3 = scf.for %i = %c0 to %c7 step %c1 iter_args(%p = %a, %q = %b, %r = %a) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %e = tensor.empty() : tensor<2xf32>
    %s = linalg.add ins(%p, %r : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %q, %s, %b : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  return %z#0, %z#1, %z#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
})",
             {2, 2}, {2, 2, 2});
}

/// One value that is carried twice, a slice that is carried, and a start that
/// is read again afterwards.
TEST_F(RepeatLoopsTest, SlicesAndStartsThatAreReadAgain) {
  expectSame(R"(
func.func @f(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : tensor<3x4xf32>
  %start = linalg.exp ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %first = tensor.extract_slice %start[1, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
  %z:3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %first, %g = %first, %all = %start) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
    %m = tensor.empty() : tensor<3x4xf32>
    %next = linalg.sqrt ins(%all : tensor<3x4xf32>) outs(%m : tensor<3x4xf32>) -> tensor<3x4xf32>
    %row = tensor.extract_slice %next[2, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %n = tensor.empty() : tensor<4xf32>
    %s = linalg.add ins(%h, %row : tensor<4xf32>, tensor<4xf32>) outs(%n : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s, %row, %next : tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>
  }
  %again = tensor.extract_slice %start[0, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
  return %z#0, %z#1, %z#2, %again : tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>
})",
             {12}, {4, 4, 12, 4});
}

/// The counter as a number, of a loop that counts by threes from 2 on.
TEST_F(RepeatLoopsTest, CountersThatAreComputedWith) {
  expectSame(R"(
func.func @f(%x: tensor<20xf32>) -> (tensor<4xf32>, tensor<20xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c17 = arith.constant 17 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z:2 = scf.for %i = %c2 to %c17 step %c3 iter_args(%h = %s, %o = %x) -> (tensor<4xf32>, tensor<20xf32>) {
    %twice = arith.addi %i, %i : index
    %from = arith.subi %c17, %i : index
    %some = tensor.extract_slice %x[%from] [4] [1] : tensor<20xf32> to tensor<4xf32>
    %m = tensor.empty() : tensor<4xf32>
    %new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%some, %h : tensor<4xf32>, tensor<4xf32>) outs(%m : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %k = arith.index_cast %twice : index to i64
      %f = arith.sitofp %k : i64 to f32
      %l = arith.index_cast %i : index to i64
      %g = arith.sitofp %l : i64 to f32
      %p = arith.mulf %a, %f : f32
      %q = arith.addf %b, %p : f32
      %r = arith.addf %q, %g : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %w = tensor.insert_slice %new into %o[%i] [4] [1] : tensor<4xf32> into tensor<20xf32>
    scf.yield %new, %w : tensor<4xf32>, tensor<20xf32>
  }
  return %z#0, %z#1 : tensor<4xf32>, tensor<20xf32>
})",
             {20}, {4, 20});
}

/// A loop in a loop: its state starts anew each time, or goes on.
TEST_F(RepeatLoopsTest, LoopsInLoops) {
  expectSame(R"(
func.func @f(%x: tensor<3x5x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<2xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%out = %e, %carry = %start) -> (tensor<3x2xf32>, tensor<2xf32>) {
    %s:2 = scf.for %j = %c0 to %c5 step %c1 iter_args(%h = %start, %g = %carry) -> (tensor<2xf32>, tensor<2xf32>) {
      %row = tensor.extract_slice %x[%i, %j, 0] [1, 1, 2] [1, 1, 1] : tensor<3x5x2xf32> to tensor<2xf32>
      %m = tensor.empty() : tensor<2xf32>
      %a = linalg.add ins(%h, %row : tensor<2xf32>, tensor<2xf32>) outs(%m : tensor<2xf32>) -> tensor<2xf32>
      %k = tensor.empty() : tensor<2xf32>
      %b = linalg.sub ins(%a, %g : tensor<2xf32>, tensor<2xf32>) outs(%k : tensor<2xf32>) -> tensor<2xf32>
      scf.yield %a, %b : tensor<2xf32>, tensor<2xf32>
    }
    %w = tensor.insert_slice %s#0 into %out[%i, 0] [1, 2] [1, 1] : tensor<2xf32> into tensor<3x2xf32>
    scf.yield %w, %s#1 : tensor<3x2xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<3x2xf32>, tensor<2xf32>
})",
             {30}, {6, 2});
}
