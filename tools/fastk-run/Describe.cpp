//===- Describe.cpp - What is in a plan file ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunModel.h"
#include "fastk/Cuda/Cubin.h"
#include "fastk/Protocol/PlanFile.h"
#include "fastk/Runtime/Signature.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace fastk;
using llvm::StringRef;
using worker::PlanFile;

/// "4x128xf32, 128xf32"
static std::string show(const std::vector<TensorType> &types) {
  std::string text;
  for (const TensorType &type : types)
    text += (text.empty() ? "" : ", ") + type.str();
  return text;
}

/// "132x1x1"
static std::string show(const worker::Dim3 &extents) {
  return llvm::formatv("{0}x{1}x{2}", extents[0], extents[1], extents[2]);
}

/// One a line; those of a repeat further in.
static void printSteps(const std::vector<worker::PlanStep> &steps, size_t first,
                       size_t last, unsigned indent) {
  llvm::raw_ostream &os = llvm::outs();
  for (size_t i = first; i < last; ++i) {
    os.indent(indent);
    if (const auto *repeat = std::get_if<worker::Repeat>(&steps[i])) {
      size_t end = std::min(last, i + 1 + size_t(repeat->size));
      os << "repeat " << repeat->count << " times:\n";
      printSteps(steps, i + 1, end, indent + 2);
      i = end - 1;
    } else if (const auto *memset = std::get_if<worker::Memset>(&steps[i])) {
      os << llvm::formatv("memset {0} bytes to {1}\n", memset->bytes,
                          unsigned(memset->value));
    } else {
      const auto &launch = std::get<worker::Launch>(steps[i]);
      os << llvm::formatv("launch {0}, grid {1}, block {2}", launch.kernel,
                          show(launch.grid), show(launch.block));
      if (launch.cluster != worker::Dim3{1, 1, 1})
        os << ", cluster " << show(launch.cluster);
      if (launch.sharedBytes)
        os << ", " << launch.sharedBytes << " bytes of shared memory";
      os << (launch.cooperative ? ", cooperative" : "")
         << (launch.overlapsPrevious ? ", overlaps the one before" : "")
         << "\n";
    }
  }
}

static llvm::Error print(const PlanFile::Function &function) {
  llvm::Expected<Signature> signature = Signature::parse(function.signature);
  if (!signature)
    return signature.takeError();
  int64_t workspace = 0;
  for (const worker::Workspace &each : function.plan.workspaces)
    workspace += each.bytes;
  llvm::outs() << llvm::formatv(
      "function {0}: ({1}) -> ({2})\n  {3} steps, {4} tensor maps, {5} bytes "
      "of workspace, {6} constants\n",
      function.name, show(signature->inputs), show(signature->outputs),
      function.plan.steps.size(), function.plan.tensorMaps.size(), workspace,
      function.constants.size());
  printSteps(function.plan.steps, 0, function.plan.steps.size(), /*indent=*/2);
  return llvm::Error::success();
}

int fastk::describePlanFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(
        llvm::createStringError(path + ": " + buffer.getError().message()));
  std::string error;
  std::optional<PlanFile> file =
      worker::parsePlanFile(std::string_view((*buffer)->getBuffer()), error);
  if (!file)
    return fail(llvm::createStringError(path + ": " + error));
  int64_t constantBytes = 0;
  for (std::string_view constant : file->constants)
    constantBytes += int64_t(constant.size());
  llvm::outs() << llvm::formatv(
      "{0}: a model for {1}: {2} functions, {3} images of code, {4} bytes of "
      "constants\n",
      path, file->target, file->functions.size(), file->images.size(),
      constantBytes);
  for (const PlanFile::Function &function : file->functions)
    if (llvm::Error failure = print(function))
      return fail(std::move(failure));
  for (const PlanFile::Image &image : file->images)
    llvm::outs() << llvm::formatv(
        "code {0}: {1} bytes of {2}\n", image.name, image.code.size(),
        cuda::isCubin(image.code) ? "machine code" : "PTX");
  return 0;
}
