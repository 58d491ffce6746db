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

void CompiledFunction::operator()(
    const std::vector<HostTensor> &inputs,
    const std::vector<HostTensor> &outputs) const {
  std::vector<void *> pointers;
  pointers.reserve(inputs.size() + outputs.size());
  for (const HostTensor &tensor : inputs)
    pointers.push_back(tensor.data());
  for (const HostTensor &tensor : outputs)
    pointers.push_back(tensor.data());
  entry(pointers.data());
}

std::vector<HostTensor> CompiledFunction::makeOutputs() const {
  std::vector<HostTensor> outputs;
  for (const TensorType &type : signature.outputs)
    outputs.emplace_back(type);
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

llvm::Expected<CompiledLibrary> CompiledLibrary::open(StringRef path) {
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
  library.path = path.str();
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
      function.entry = reinterpret_cast<void (*)(void **)>(entry);
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

llvm::Expected<const CompiledFunction *>
CompiledLibrary::find(StringRef name) const {
  if (name.empty() && entries.size() == 1)
    return &entries.front();
  for (const CompiledFunction &function : entries)
    if (function.name == name)
      return &function;
  std::string known =
      llvm::join(llvm::map_range(
                     entries, [](const CompiledFunction &f) { return f.name; }),
                 ", ");
  return llvm::createStringError(
      path +
      (name.empty() ? ": has several functions: choose one with "
                      "--entry: "
                    : ": has no function '" + name + "': it has ") +
      known);
}
