//===- CompiledLibrary.cpp - Load and call what fastk compiled ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Runtime/CompiledLibrary.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>

using namespace fastk;
using llvm::StringRef;

static constexpr StringRef kSignaturePrefix = "fastk_signature_";

llvm::Error
CompiledFunction::operator()(const std::vector<HostTensor> &inputs,
                             std::vector<HostTensor> &outputs) const {
  std::vector<void *> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i].data());
    if (signature.inputs[i].isDynamic())
      pointers.push_back(const_cast<int64_t *>(inputs[i].type().shape.data()));
  }
  // What the function says about its dynamic outputs.
  struct Made {
    void *memory = nullptr;
    TensorType type;
  };
  std::vector<Made> made(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    made[i].type = signature.outputs[i];
    if (!made[i].type.isDynamic()) {
      pointers.push_back(outputs[i].data());
      continue;
    }
    pointers.push_back(&made[i].memory);
    pointers.push_back(made[i].type.shape.data());
  }
  int status = entry(pointers.data());
  if (errorText && status != 0)
    return llvm::createStringError(name + ": " + errorText(status));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (signature.outputs[i].isDynamic())
      outputs[i] = HostTensor(std::move(made[i].type), made[i].memory);
  return llvm::Error::success();
}

std::vector<HostTensor> CompiledFunction::makeOutputs() const {
  std::vector<HostTensor> outputs;
  for (TensorType type : signature.outputs) {
    for (int64_t &size : type.shape)
      size = std::max<int64_t>(size, 0);
    outputs.emplace_back(std::move(type));
  }
  return outputs;
}

/// The functions that `file` exports with a signature, by name.
static llvm::Expected<std::vector<std::string>>
listFunctions(llvm::object::ObjectFile &file) {
  std::vector<std::string> names;
  auto *elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(&file);
  if (!elf)
    return llvm::createStringError("is not an ELF shared library");
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (name->consume_front(kSignaturePrefix))
      names.push_back(name->str());
  }
  llvm::sort(names);
  return names;
}

llvm::Expected<CompiledLibrary> CompiledLibrary::open(StringRef path,
                                                      StringRef shownName) {
  auto problem = [&](const llvm::Twine &what) {
    return llvm::createStringError(path + ": " + what);
  };
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object)
    return problem(llvm::toString(object.takeError()));
  auto names = listFunctions(*object->getBinary());
  if (!names)
    return problem(llvm::toString(names.takeError()));
  if (names->empty())
    return problem("exports no fastk function: make it with `fastk-opt "
                   "model.mlir --emit=so -o model.so`");

  // dlopen searches the library path for a name without a slash.
  llvm::SmallString<128> absolute(path);
  if (std::error_code ec = llvm::sys::fs::make_absolute(absolute))
    return problem(ec.message());
  void *handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return problem(dlerror());
  CompiledLibrary library;
  library.name = (shownName.empty() ? path : shownName).str();
  for (const std::string &name : *names) {
    CompiledFunction function;
    function.name = name;
    auto *text = static_cast<const char *>(
        dlsym(handle, (kSignaturePrefix + name).str().c_str()));
    // The first name where the model has a function of the second.
    void *entry = dlsym(handle, ("fastk_packed_" + name).c_str());
    if (!entry)
      entry = dlsym(handle, (name + "_packed").c_str());
    if (!text || !entry)
      return problem("function '" + name + "' has no packed entry point");
    llvm::Expected<Signature> signature = Signature::parse(text);
    if (!signature)
      return problem(llvm::toString(signature.takeError()));
    function.signature = std::move(*signature);
    if (function.signature.target == "host") {
      function.entry = reinterpret_cast<int (*)(void **)>(entry);
      function.errorText = reinterpret_cast<const char *(*)(int)>(
          dlsym(handle, ("fastk_error_" + name).c_str()));
    } else {
      function.gpuEntry = reinterpret_cast<int (*)(void **)>(entry);
      function.gpuPrepare = reinterpret_cast<int (*)()>(
          dlsym(handle, ("fastk_prepare_" + name).c_str()));
      if (!function.gpuPrepare)
        return problem("function '" + name + "' has no fastk_prepare_" + name);
    }
    library.entries.push_back(std::move(function));
  }
  return library;
}

std::string fastk::explainNoFunction(StringRef function,
                                     llvm::ArrayRef<std::string> known) {
  return (function.empty()
              ? "has several functions: choose one with --entry: "
              : "has no function '" + function.str() + "': it has ") +
         llvm::join(known, ", ");
}

llvm::Expected<const CompiledFunction *>
CompiledLibrary::find(StringRef function) const {
  if (function.empty() && entries.size() == 1)
    return &entries.front();
  for (const CompiledFunction &each : entries)
    if (each.name == function)
      return &each;
  std::vector<std::string> known;
  for (const CompiledFunction &each : entries)
    known.push_back(each.name);
  return llvm::createStringError(name + ": " +
                                 explainNoFunction(function, known));
}
