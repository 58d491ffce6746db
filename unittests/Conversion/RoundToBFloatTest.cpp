//===- RoundToBFloatTest.cpp - bf16 where no instruction makes it ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's own conversions of constants are the witness: operations on constants
// become constants where they are lowered.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <random>

using namespace fastk;
using namespace llvm;

namespace {
/// A function that stores what is computed of constants.
class Stores {
public:
  Stores() : module("test", context), builder(context) {
    auto *type = FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()},
                                   /*isVarArg=*/false);
    function = Function::Create(type, Function::ExternalLinkage, "f", module);
    builder.SetInsertPoint(BasicBlock::Create(context, "", function));
  }
  void add(const APFloat &value) {
    Value *constant = ConstantFP::get(context, value);
    auto *rounded = new FPTruncInst(constant, builder.getBFloatTy(), "",
                                    builder.GetInsertBlock());
    builder.CreateStore(rounded, function->getArg(0));
  }
  /// The bits of what is stored, in order.
  std::vector<uint64_t> lower() {
    builder.CreateRetVoid();
    roundToBFloatByIntegers(module);
    std::vector<uint64_t> bits;
    for (Instruction &instruction : instructions(*function))
      if (auto *store = dyn_cast<StoreInst>(&instruction)) {
        auto *constant = dyn_cast<ConstantFP>(store->getValueOperand());
        EXPECT_TRUE(constant);
        bits.push_back(
            constant ? constant->getValueAPF().bitcastToAPInt().getZExtValue()
                     : 0);
      }
    return bits;
  }

private:
  LLVMContext context;
  Module module;
  IRBuilder<> builder;
  Function *function;
};
} // namespace

static void expectAsLLVM(ArrayRef<APFloat> values) {
  Stores stores;
  for (const APFloat &value : values)
    stores.add(value);
  std::vector<uint64_t> bits = stores.lower();
  ASSERT_EQ(bits.size(), values.size());
  for (auto [value, found] : zip_equal(values, bits)) {
    APFloat expected = value;
    bool losesInfo = false;
    expected.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
    SmallString<32> text;
    value.toString(text);
    if (value.isNaN())
      EXPECT_TRUE(APFloat(APFloat::BFloat(), APInt(16, found)).isNaN())
          << text.str().str();
    else
      EXPECT_EQ(found, expected.bitcastToAPInt().getZExtValue())
          << text.str().str();
  }
}

TEST(RoundToBFloat, FloatsOfAllKinds) {
  std::vector<APFloat> values;
  for (uint32_t bits : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u,
                        0x7f800001u, 0x00000001u, 0x007fffffu, 0x7f7fffffu,
                        0x3f808000u, 0x3f818000u, 0x3f808001u, 0x3f807fffu})
    values.push_back(APFloat(APFloat::IEEEsingle(), APInt(32, bits)));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i)
    values.push_back(APFloat(APFloat::IEEEsingle(), APInt(32, random())));
  expectAsLLVM(values);
}

TEST(RoundToBFloat, DoublesAreRoundedOnce) {
  // Just above the middle of two bf16, as a float the middle itself.
  std::vector<APFloat> values = {APFloat(1.00390625 + 0x1p-40),
                                 APFloat(-1.00390625 - 0x1p-40),
                                 APFloat(1.01171875 - 0x1p-40),
                                 APFloat(1e300),
                                 APFloat(-1e300),
                                 APFloat(1e-300),
                                 APFloat(0.0),
                                 APFloat::getInf(APFloat::IEEEdouble()),
                                 APFloat::getNaN(APFloat::IEEEdouble())};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Near floats, of which few are exact.
    uint64_t bits = random();
    bits = (bits & 0x800fffffffffffffull) |
           ((1023 - 140 + (bits >> 52) % 280) << 52);
    values.push_back(APFloat(APFloat::IEEEdouble(), APInt(64, bits)));
  }
  expectAsLLVM(values);
}

TEST(RoundToBFloat, WhatComputesInBF16IsOfFloats) {
  LLVMContext context;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseAssemblyString(R"(
    declare <4 x bfloat> @llvm.sqrt.v4bf16(<4 x bfloat>)
    declare <4 x bfloat> @llvm.fabs.v4bf16(<4 x bfloat>)
    define <4 x bfloat> @f(<4 x bfloat> %a, <4 x bfloat> %b, <4 x i32> %i) {
      %s = fadd contract <4 x bfloat> %a, %b
      %r = call <4 x bfloat> @llvm.sqrt.v4bf16(<4 x bfloat> %s)
      %n = sitofp <4 x i32> %i to <4 x bfloat>
      %m = fmul <4 x bfloat> %r, %n
      %p = call <4 x bfloat> @llvm.fabs.v4bf16(<4 x bfloat> %m)
      ret <4 x bfloat> %p
    })",
                                                       problem, context);
  ASSERT_TRUE(module) << problem.getMessage().str();
  roundToBFloatByIntegers(*module);
  for (Instruction &instruction : instructions(*module->getFunction("f"))) {
    bool rounds = isa<FPTruncInst>(instruction) &&
                  instruction.getType()->getScalarType()->isBFloatTy();
    bool computes = isa<BinaryOperator>(instruction) &&
                    instruction.getType()->getScalarType()->isBFloatTy();
    EXPECT_FALSE(rounds || computes);
    if (auto *call = dyn_cast<CallInst>(&instruction))
      EXPECT_NE(call->getCalledFunction()->getName(), "llvm.sqrt.v4bf16");
  }
}

TEST(RoundToBFloat, TwoResultsAreRoundedWhereTheyAreTaken) {
  LLVMContext context;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseAssemblyString(R"(
    declare { bfloat, bfloat } @llvm.sincos.bf16(bfloat)
    define bfloat @f(bfloat %a) {
      %p = call { bfloat, bfloat } @llvm.sincos.bf16(bfloat %a)
      %s = extractvalue { bfloat, bfloat } %p, 0
      %c = extractvalue { bfloat, bfloat } %p, 1
      %r = fadd bfloat %s, %c
      ret bfloat %r
    })",
                                                       problem, context);
  ASSERT_TRUE(module) << problem.getMessage().str();
  roundToBFloatByIntegers(*module);
  int calls = 0;
  for (Instruction &instruction : instructions(*module->getFunction("f")))
    if (auto *call = dyn_cast<CallInst>(&instruction)) {
      EXPECT_EQ(call->getCalledFunction()->getName(), "llvm.sincos.f32");
      ++calls;
    }
  EXPECT_EQ(calls, 1);
}

TEST(RoundToBFloat, IntegersAreMadeOfFloats) {
  LLVMContext context;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseAssemblyString(R"(
    define <4 x i8> @f(<4 x bfloat> %a, <4 x half> %b) {
      %s = fptosi <4 x bfloat> %a to <4 x i8>
      %u = fptoui <4 x bfloat> %a to <4 x i8>
      %h = fptosi <4 x half> %b to <4 x i8>
      %r = add <4 x i8> %s, %u
      %t = add <4 x i8> %r, %h
      ret <4 x i8> %t
    })",
                                                       problem, context);
  ASSERT_TRUE(module) << problem.getMessage().str();
  convertBFloatAsFloat(*module);
  std::vector<Type *> from;
  for (Instruction &instruction : instructions(*module->getFunction("f")))
    if (isa<FPToSIInst, FPToUIInst>(instruction))
      from.push_back(instruction.getOperand(0)->getType()->getScalarType());
  Type *wide = Type::getFloatTy(context);
  EXPECT_EQ(from, (std::vector<Type *>{wide, wide, Type::getHalfTy(context)}));
}
