//===- RoundToBFloat.cpp - bf16 where no instruction makes it -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a processor has no instruction that rounds to bf16, LLVM calls
// __truncsfbf2 for each element: a function that the C libraries of many
// systems lack, and that is not vectorised. Integer operations do the same.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace fastk;
using namespace llvm;

static bool isBFloat(Type *type) { return type->getScalarType()->isBFloatTy(); }

/// `type` with elements of another type.
static Type *withElement(Type *type, Type *element) {
  if (auto *vector = dyn_cast<VectorType>(type))
    return VectorType::get(element, vector->getElementCount());
  return element;
}

/// A double as a float that rounds to the same bf16: inexact ones get an odd
/// last bit (Boldo and Melquiond, "When double rounding is odd", 2005).
static Value *roundToOdd(IRBuilder<> &builder, Value *value) {
  Type *type = withElement(value->getType(), builder.getFloatTy());
  Type *integer = withElement(value->getType(), builder.getInt32Ty());
  Value *near = builder.CreateFPTrunc(value, type);
  Value *back = builder.CreateFPExt(near, value->getType());
  Value *bits = builder.CreateBitCast(near, integer);
  // Numbers of one sign are ordered as their bits are.
  Type *wide = withElement(value->getType(), builder.getInt64Ty());
  auto magnitude = [&](Value *of) {
    return builder.CreateAnd(builder.CreateBitCast(of, wide),
                             ConstantInt::get(wide, INT64_MAX));
  };
  Value *isAbove = builder.CreateICmpUGT(magnitude(back), magnitude(value));
  Value *below = builder.CreateSub(bits, builder.CreateZExt(isAbove, integer));
  Value *odd = builder.CreateOr(below, ConstantInt::get(integer, 1));
  Value *isInexact = builder.CreateFCmpONE(back, value);
  return builder.CreateBitCast(builder.CreateSelect(isInexact, odd, bits),
                               type);
}

/// To nearest, ties to even; a NaN stays one, and becomes quiet.
static Value *roundToBFloat(IRBuilder<> &builder, Value *value) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = roundToOdd(builder, value);
  Type *wide = withElement(value->getType(), builder.getInt32Ty());
  auto number = [&](uint64_t bits) { return ConstantInt::get(wide, bits); };
  Value *bits = builder.CreateBitCast(value, wide);
  Value *high = builder.CreateLShr(bits, number(16));
  Value *isOdd = builder.CreateAnd(high, number(1));
  Value *rounded = builder.CreateLShr(
      builder.CreateAdd(bits, builder.CreateAdd(isOdd, number(0x7fff))),
      number(16));
  Value *quiet = builder.CreateOr(high, number(0x40));
  Value *result =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  result = builder.CreateTrunc(
      result, withElement(value->getType(), builder.getInt16Ty()));
  return builder.CreateBitCast(
      result, withElement(value->getType(), builder.getBFloatTy()));
}

/// Whether the instruction computes in bf16 what is rounded.
static bool roundsToBFloat(const Instruction &instruction) {
  if (!isBFloat(instruction.getType()))
    return false;
  if (isa<FPTruncInst, SIToFPInst, UIToFPInst>(instruction))
    return true;
  if (isa<BinaryOperator>(instruction))
    return true;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  // These move bits.
  return call && call->getIntrinsicID() != Intrinsic::fabs &&
         call->getIntrinsicID() != Intrinsic::copysign &&
         any_of(call->args(),
                [](const Use &use) { return isBFloat(use->getType()); });
}

/// The intrinsic for floats, or null where there is none.
static Value *callForFloats(IRBuilder<> &builder, IntrinsicInst &call,
                            ArrayRef<Value *> arguments, Type *result) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  SmallVector<Type *> overloads;
  if (!Intrinsic::getIntrinsicSignature(call.getIntrinsicID(),
                                        FunctionType::get(result, types, false),
                                        overloads))
    return nullptr;
  CallInst *made =
      builder.CreateIntrinsic(call.getIntrinsicID(), overloads, arguments);
  made->copyFastMathFlags(&call);
  return made;
}

/// The same in floats, which hold every bf16, then rounded.
static Value *computeInFloats(IRBuilder<> &builder, Instruction &instruction) {
  Type *type = withElement(instruction.getType(), builder.getFloatTy());
  if (isa<FPTruncInst>(instruction))
    return instruction.getOperand(0);
  // Integers of up to 53 bits are exact.
  Type *exact = withElement(instruction.getType(), builder.getDoubleTy());
  if (isa<SIToFPInst>(instruction))
    return builder.CreateSIToFP(instruction.getOperand(0), exact);
  if (isa<UIToFPInst>(instruction))
    return builder.CreateUIToFP(instruction.getOperand(0), exact);
  auto widen = [&](Value *value) {
    return isBFloat(value->getType())
               ? builder.CreateFPExt(
                     value, withElement(value->getType(), builder.getFloatTy()))
               : value;
  };
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction)) {
    Value *made =
        builder.CreateBinOp(binary->getOpcode(), widen(binary->getOperand(0)),
                            widen(binary->getOperand(1)));
    if (auto *computed = dyn_cast<Instruction>(made))
      computed->copyFastMathFlags(&instruction);
    return made;
  }
  auto &call = cast<IntrinsicInst>(instruction);
  SmallVector<Value *> arguments;
  for (Use &use : call.args())
    arguments.push_back(widen(use));
  return callForFloats(builder, call, arguments, type);
}

bool fastk::hasBFloatRounding(const HostTarget &target) {
  // Other processors' back ends have no call for it.
  return !Triple(target.triple).isX86() ||
         StringRef(target.features).contains("+avx512bf16") ||
         StringRef(target.features).contains("+avxneconvert");
}

/// An intrinsic with two results, as sincos, for floats; each result is rounded
/// where it is taken out.
static void splitResults(IntrinsicInst &call) {
  IRBuilder<> builder(&call);
  SmallVector<Value *> arguments;
  for (Use &use : call.args())
    arguments.push_back(builder.CreateFPExt(
        use, withElement(use->getType(), builder.getFloatTy())));
  auto *results =
      StructType::get(arguments[0]->getType(), arguments[0]->getType());
  Value *made = callForFloats(builder, call, arguments, results);
  if (!made)
    return;
  for (User *user : make_early_inc_range(call.users())) {
    auto *taken = dyn_cast<ExtractValueInst>(user);
    if (!taken)
      return;
    builder.SetInsertPoint(taken);
    taken->replaceAllUsesWith(roundToBFloat(
        builder, builder.CreateExtractValue(made, taken->getIndices())));
    taken->eraseFromParent();
  }
  call.eraseFromParent();
}

void fastk::roundToBFloatByIntegers(Module &module) {
  SmallVector<IntrinsicInst *> pairs;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getType()->isStructTy() && call->arg_size() == 1 &&
          isBFloat(call->getArgOperand(0)->getType()))
        pairs.push_back(call);
  for (IntrinsicInst *call : pairs)
    splitResults(*call);
  SmallVector<Instruction *> rounding;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (roundsToBFloat(instruction))
        rounding.push_back(&instruction);
  for (Instruction *instruction : rounding) {
    IRBuilder<> builder(instruction);
    Value *value = computeInFloats(builder, *instruction);
    if (!value)
      continue;
    instruction->replaceAllUsesWith(roundToBFloat(builder, value));
    instruction->eraseFromParent();
  }
}

void fastk::convertBFloatAsFloat(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (!isa<FPToSIInst, FPToUIInst>(instruction))
        continue;
      Use &operand = instruction.getOperandUse(0);
      if (isBFloat(operand->getType()))
        operand.set(
            IRBuilder<>(&instruction)
                .CreateFPExt(operand, withElement(operand->getType(),
                                                  Type::getFloatTy(
                                                      module.getContext()))));
    }
}

/// Whether there is a value of type bf16.
static bool usesBFloat(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (isBFloat(instruction.getType()) ||
          any_of(instruction.operands(),
                 [](const Use &use) { return isBFloat(use->getType()); }))
        return true;
  return false;
}

void fastk::defineBFloatCalls(Module &module) {
  if (!usesBFloat(module))
    return;
  LLVMContext &context = module.getContext();
  SmallVector<GlobalValue *> defined;
  for (auto [name, type] :
       {std::pair("__truncsfbf2", Type::getFloatTy(context)),
        std::pair("__truncdfbf2", Type::getDoubleTy(context))}) {
    if (module.getFunction(name))
      continue;
    // Each library has its own: nobody else's is taken for it.
    Function *function = Function::Create(
        FunctionType::get(Type::getBFloatTy(context), {type}, false),
        GlobalValue::LinkOnceODRLinkage, name, module);
    function->setVisibility(GlobalValue::HiddenVisibility);
    function->setDoesNotThrow();
    IRBuilder<> builder(BasicBlock::Create(context, "", function));
    builder.CreateRet(roundToBFloat(builder, function->getArg(0)));
    defined.push_back(function);
  }
  appendToCompilerUsed(module, defined);
}
