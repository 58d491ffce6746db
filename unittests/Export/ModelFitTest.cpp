//===- ModelFitTest.cpp - Where a model's arguments go in a winner --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Export/ModelFit.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fastk;
using testing::HasSubstr;

TEST(ModelArguments, AreReadFromASidecar) {
  auto arguments = readModelArguments(R"({"arguments": [
    {"name": "conv.weight", "role": "parameter", "shape": [2, 3]},
    {"name": "mean", "role": "buffer", "shape": []},
    {"name": "x", "role": "input", "shape": [4]},
    {"name": "y", "role": "input", "shape": [5]}]})");
  ASSERT_TRUE(bool(arguments)) << llvm::toString(arguments.takeError());
  ASSERT_EQ(arguments->size(), 4u);
  EXPECT_EQ((*arguments)[0].name, "conv.weight");
  EXPECT_EQ((*arguments)[0].role, ModelArgument::Role::Parameter);
  EXPECT_EQ((*arguments)[1].role, ModelArgument::Role::Buffer);
  EXPECT_EQ((*arguments)[2].input, 0u);
  EXPECT_EQ((*arguments)[3].input, 1u);
  EXPECT_EQ((*arguments)[3].shape, (std::vector<int64_t>{5}));
}

TEST(ModelArguments, RefuseWhatNoWinnerDoes) {
  for (auto [text, what] :
       {std::pair("[]", "no list 'arguments'"),
        std::pair(R"({"arguments": [{"role": "input"}]})", "no 'name'"),
        std::pair(R"({"arguments": [{"role": "state", "name": "h"}]})",
                  "neither an input nor a weight"),
        std::pair(R"({"arguments": [], "returned": {"tuple": [0]}})",
                  "returns a container"),
        std::pair(R"({"arguments": [], "results":
                      [{"role": "updated", "name": "mean"}]})",
                  "updates its buffer 'mean'")}) {
    auto arguments = readModelArguments(text);
    ASSERT_FALSE(bool(arguments)) << text;
    EXPECT_THAT(llvm::toString(arguments.takeError()), HasSubstr(what));
  }
}

namespace {
/// Functions that call the winner of cuda-v1, beside it.
class ModelFitTest : public testing::Test {
protected:
  ModelFitTest() {
    context.loadDialect<FastkDialect, arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, tensor::TensorDialect>();
  }

  llvm::Expected<ModelFit> fit(StringRef function, size_t inputs = 1) {
    auto file = llvm::MemoryBuffer::getFile(FASTK_TEST_LOWERING);
    if (!file)
      return llvm::createStringError(file.getError(), "no lowering");
    module = parseSourceString<ModuleOp>(
        ((*file)->getBuffer() + "\n" + function).str(), ParserConfig(&context));
    if (!module)
      return llvm::createStringError("no module");
    std::vector<ModelArgument> arguments(inputs);
    return fitModel(*module, kKey, std::move(arguments));
  }

  std::string problemOf(StringRef function, size_t inputs = 1) {
    llvm::Expected<ModelFit> result = fit(function, inputs);
    return result ? "" : llvm::toString(result.takeError());
  }

  static constexpr StringLiteral kKey =
      "0e03df74c38e590630fa8a8d5339ea00b1a66cfda0e73b1e6696f8600aa3bfc0";
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(ModelFitTest, LooksThroughReshapes) {
  llvm::Expected<ModelFit> result = fit(R"(
    func.func @forward(%x: tensor<8192xf32>) -> tensor<8192xf32> {
      %0 = tensor.expand_shape %x [[0, 1]] output_shape [64, 128]
         : tensor<8192xf32> into tensor<64x128xf32>
      %1 = fastk.call @w_0e03df74c38e5906(%0)
         : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %2 = tensor.collapse_shape %1 [[0, 1]]
         : tensor<64x128xf32> into tensor<8192xf32>
      return %2 : tensor<8192xf32>
    })");
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  ASSERT_EQ(result->operands.size(), 1u);
  EXPECT_EQ(result->operands[0].index, 0u);
  EXPECT_EQ(result->operands[0].view, (std::vector<int64_t>{64, 128}));
  ASSERT_EQ(result->results.size(), 1u);
  EXPECT_EQ(result->results[0].view, (std::vector<int64_t>{8192}));
}

TEST_F(ModelFitTest, NamesWhatIsNoPartOfTheWinner) {
  EXPECT_THAT(problemOf(R"(
    func.func @forward(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
      %0 = arith.negf %x : tensor<64x128xf32>
      %1 = fastk.call @w_0e03df74c38e5906(%0)
         : (tensor<64x128xf32>) -> tensor<64x128xf32>
      return %1 : tensor<64x128xf32>
    })"),
              HasSubstr("operand 0 of the winner is made by 'arith.negf'"));
  EXPECT_THAT(problemOf(R"(
    func.func @forward(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
      %0 = fastk.call @w_0e03df74c38e5906(%x)
         : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %1 = arith.negf %0 : tensor<64x128xf32>
      return %1 : tensor<64x128xf32>
    })"),
              HasSubstr("result 0 is made by 'arith.negf'"));
  EXPECT_THAT(problemOf(R"(
    func.func @forward(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
      return %x : tensor<64x128xf32>
    })"),
              HasSubstr("result 0 is made by an argument of the model"));
}

TEST_F(ModelFitTest, NamesASecondCall) {
  EXPECT_THAT(problemOf(R"(
    func.func @forward(%x: tensor<64x128xf32>)
        -> (tensor<64x128xf32>, tensor<64x128xf32>) {
      %0 = fastk.call @w_0e03df74c38e5906(%x)
         : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %1 = fastk.call @w_0e03df74c38e5906(%0)
         : (tensor<64x128xf32>) -> tensor<64x128xf32>
      return %0, %1 : tensor<64x128xf32>, tensor<64x128xf32>
    })"),
              HasSubstr("calls the winner twice"));
}

TEST_F(ModelFitTest, NeedsTheFunctionOfTheSidecar) {
  EXPECT_THAT(problemOf(R"(
    func.func @forward(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
      return %x : tensor<64x128xf32>
    })",
                        /*inputs=*/2),
              HasSubstr("is not the one that its sidecar describes"));
  EXPECT_THAT(problemOf(""), HasSubstr("not exactly one function"));
}
