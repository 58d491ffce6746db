//===- EmitDeviceModel.cpp - A model for a GPU as host code ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan file as a constant, and for each function a fastk_function of
// fastk_runtime.h, field by field in the order of that header.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "Host/Model/ModelInterface.h"
#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Runtime/fastk_runtime.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

static_assert(FASTK_FUNCTION_VERSION == 3, "describe() writes this layout");

namespace {
class Emitter {
public:
  Emitter(const DeviceModel &model, llvm::LLVMContext &context)
      : model(model), context(context),
        module(std::make_unique<llvm::Module>("model", context)),
        pointer(llvm::PointerType::get(context, 0)),
        i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)) {}

  std::unique_ptr<llvm::Module> run();

private:
  llvm::GlobalVariable *constant(llvm::Constant *value, StringRef name,
                                 unsigned alignment);
  llvm::Constant *number(llvm::Type *type, uint64_t value) {
    return llvm::ConstantInt::get(type, value);
  }
  /// The fastk_function of `function`.
  llvm::Constant *describe(const DeviceFunction &function);
  void addEntry(const DeviceFunction &function, llvm::Constant *described);
  void addForward(StringRef name, StringRef callee, llvm::Type *result,
                  llvm::Constant *described, unsigned numPointers = 0);

  const DeviceModel &model;
  llvm::LLVMContext &context;
  std::unique_ptr<llvm::Module> module;
  llvm::Type *pointer, *i32, *i64;
  llvm::Constant *file = nullptr;
  uint64_t fileBytes = 0;
};
} // namespace

llvm::GlobalVariable *Emitter::constant(llvm::Constant *value, StringRef name,
                                        unsigned alignment) {
  auto *global =
      new llvm::GlobalVariable(*module, value->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, value, name);
  global->setAlignment(llvm::Align(alignment));
  return global;
}

llvm::Constant *Emitter::describe(const DeviceFunction &function) {
  llvm::Constant *name =
      constant(llvm::ConstantDataArray::getString(context, function.name),
               "fastk.name." + function.name, /*alignment=*/1);
  auto *type = llvm::StructType::get(
      context, {i32, i32, pointer, i64, pointer, pointer});
  llvm::Constant *value = llvm::ConstantStruct::get(
      type,
      {number(i32, FASTK_FUNCTION_VERSION), number(i32, 0), file,
       number(i64, fileBytes), name,
       llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0))});
  auto *global =
      constant(value, "fastk.function." + function.name, /*alignment=*/8);
  global->setConstant(false); // its state changes
  return global;
}

/// `int f(in..., out...)`: fastk_call with the pointers in an array.
void Emitter::addEntry(const DeviceFunction &function,
                       llvm::Constant *described) {
  unsigned count = function.inputBytes.size() + function.outputBytes.size();
  auto *type = llvm::FunctionType::get(
      i32, SmallVector<llvm::Type *>(count, pointer), /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       function.name, *module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", entry));
  llvm::Value *buffers =
      builder.CreateAlloca(llvm::ArrayType::get(pointer, std::max(count, 1u)));
  for (unsigned i = 0; i < count; ++i)
    builder.CreateStore(entry->getArg(i), builder.CreateConstInBoundsGEP1_64(
                                              pointer, buffers, i));
  llvm::FunctionCallee call = module->getOrInsertFunction(
      "fastk_call",
      llvm::FunctionType::get(i32, {pointer, pointer}, /*isVarArg=*/false));
  builder.CreateRet(builder.CreateCall(call, {described, buffers}));
}

/// `result name(pointers...)`: `callee` of the function, and of them.
void Emitter::addForward(StringRef name, StringRef callee, llvm::Type *result,
                         llvm::Constant *described, unsigned numPointers) {
  SmallVector<llvm::Type *> parameters(numPointers, pointer);
  auto *forward = llvm::Function::Create(
      llvm::FunctionType::get(result, parameters, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, *module);
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(context, "entry", forward));
  parameters.push_back(pointer);
  SmallVector<llvm::Value *> arguments{described};
  for (llvm::Argument &argument : forward->args())
    arguments.push_back(&argument);
  llvm::Value *value = builder.CreateCall(
      module->getOrInsertFunction(
          callee, llvm::FunctionType::get(result, parameters, false)),
      arguments);
  if (result->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(value);
}

std::unique_ptr<llvm::Module> Emitter::run() {
  std::string bytes = model.planFile();
  fileBytes = bytes.size();
  file = constant(llvm::ConstantDataArray::getString(context, bytes,
                                                     /*AddNull=*/false),
                  "fastk.plan_file", /*alignment=*/64);
  for (const DeviceFunction &function : model.functions) {
    llvm::Constant *described = describe(function);
    addEntry(function, described);
    addForward("fastk_prepare_" + function.name, "fastk_prepare", i32,
               described);
    addForward("fastk_call_" + function.name, "fastk_call_with", i32, described,
               /*numPointers=*/2);
    addForward("fastk_release_" + function.name, "fastk_release",
               llvm::Type::getVoidTy(context), described);
  }
  for (const DeviceFunction &function : model.functions)
    addPackedEntry(*module, function.name, function.signature);
  return std::move(module);
}

std::unique_ptr<llvm::Module> fastk::emitDeviceModel(const DeviceModel &model,
                                                     llvm::LLVMContext &context,
                                                     const HostTarget &target) {
  std::unique_ptr<llvm::Module> module = Emitter(model, context).run();
  attachTarget(*module, target);
  return module;
}

FailureOr<std::vector<std::string>> fastk::findDeviceRuntime(Location loc) {
  std::string program = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findDeviceRuntime));
  SmallString<128> bin(llvm::sys::path::parent_path(program));
  SmallString<128> lib(llvm::sys::path::parent_path(bin));
  llvm::sys::path::append(lib, "lib");
  for (StringRef folder : {StringRef(lib), StringRef(bin)}) {
    SmallString<128> library(folder);
    llvm::sys::path::append(library, "libfastk_runtime.so");
    if (llvm::sys::fs::exists(library))
      return std::vector<std::string>{("-L" + folder).str(), "-lfastk_runtime"};
  }
  emitError(loc) << "libfastk_runtime.so is neither in " << lib << " nor in "
                 << bin
                 << ": put it there, or link an object (--emit=obj) with it "
                    "yourself";
  return failure();
}
