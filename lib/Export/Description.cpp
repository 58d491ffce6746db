//===- Description.cpp - What the head of an export says ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "fastk/System/FormatSeconds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

static std::string listOf(llvm::ArrayRef<RecipeTensor> tensors,
                          llvm::StringRef name) {
  std::string text;
  for (auto [index, tensor] : llvm::enumerate(tensors))
    text += llvm::formatv("{0}{1}{2} {3}", index ? ", " : "", name, index,
                          tensor.str());
  return text;
}

std::string fastk::describe(const LaunchRecipe &recipe,
                            llvm::StringRef prefix) {
  std::string text;
  auto line = [&](const llvm::Twine &content) {
    llvm::StringRef whole = prefix;
    std::string comment = commentOf(content.str());
    text += ((comment.empty() ? whole.rtrim() : whole) + comment + "\n").str();
  };
  bool isPTX = recipe.kind == LaunchRecipe::Code::PTX;
  line(recipe.name + " " + recipe.shapes + ": a winner of fastk, " +
       (isPTX ? "its device code as PTX that fastk's compiler made"
              : "its CUDA-C and what launches it"));
  line("");
  line("  key       " + recipe.key);
  line("  for       " + recipe.chip + ", error class " + recipe.precision);
  if (recipe.medianNs > 0)
    line("  measured  " + formatSeconds(recipe.medianNs * 1e-9) + " on " +
         recipe.machine +
         (recipe.speedup > 0 ? llvm::formatv(", {0:f2} times as fast as the "
                                             "default lowering beside it",
                                             recipe.speedup)
                                   .str()
                             : ""));
  line("  idea      " + recipe.title);
  line("  inputs    " + listOf(recipe.inputs, "in"));
  line("  outputs   " + listOf(recipe.outputs, "out"));
  line("  scratch   " + llvm::Twine(recipe.workspaceBytes()) + " bytes");
  return text;
}

std::string fastk::nvccArch(const LaunchRecipe &recipe) {
  if (recipe.kind == LaunchRecipe::Code::PTX)
    return "";
  llvm::StringRef number = llvm::StringRef(recipe.chip).drop_front(3);
  return llvm::formatv("-gencode=arch=compute_{0},code=sm_{0}", number);
}

size_t fastk::launchCount(const LaunchRecipe &recipe) {
  return size_t(llvm::count_if(recipe.plan.steps, [](const auto &step) {
    return std::holds_alternative<worker::Launch>(step);
  }));
}

std::string fastk::torchType(worker::ElementType type) {
  using worker::ElementType;
  switch (type) {
  case ElementType::F64:
    return "torch.float64";
  case ElementType::F32:
    return "torch.float32";
  case ElementType::F16:
    return "torch.float16";
  case ElementType::BF16:
    return "torch.bfloat16";
  case ElementType::I64:
    return "torch.int64";
  case ElementType::I32:
    return "torch.int32";
  case ElementType::I16:
    return "torch.int16";
  case ElementType::I8:
    return "torch.int8";
  case ElementType::I1:
    return "torch.bool";
  }
  return "";
}

std::string fastk::pythonTuple(llvm::ArrayRef<int64_t> numbers) {
  std::string text = "(";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + (numbers.size() == 1 ? ",)" : ")");
}

std::string fastk::pythonTensors(llvm::ArrayRef<RecipeTensor> tensors) {
  std::string text = "[";
  for (const RecipeTensor &tensor : tensors)
    text += (text.size() > 1 ? ", (" : "(") + pythonTuple(tensor.shape) + ", " +
            torchType(tensor.type) + ")";
  return text + "]";
}

std::string fastk::pythonText(llvm::StringRef text) {
  if (!text.contains("'''") && !text.ends_with("'") && !text.ends_with("\\"))
    return ("r'''\n" + text + "'''").str();
  std::string escaped;
  for (char c : text) {
    if (c == '\\' || c == '\'')
      escaped += '\\';
    escaped += c;
  }
  return "'''\n" + escaped + "'''";
}
