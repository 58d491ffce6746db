//===- PromptLanguage.cpp - Languages that programs are asked for ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromptLanguage.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/ProgramRules.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;
using llm::PromptLanguage;

static constexpr PromptLanguage kLanguages[] = {
    {Language::c, "a C program", "c", "contract-c", "ideas-c", "reply-c", "",
     "", "", "fastk_kernel", "fastk_kernel", "\"workspace_bytes\"",
     "one block ```c with the whole program and, where it uses scratch memory, "
     "one block ```json",
     "Write the program.", false},
    {Language::cuda, "a CUDA-C program", "cuda", "contract-cuda", "ideas-cuda",
     "reply-cuda", "plan", "example-cuda", "prelude", "__global__",
     "a __global__ entry", "\"steps\"",
     "one block ```cuda with the whole program and one block ```json with its "
     "plan",
     "Write the program and its plan.", false},
    {Language::schedule, "a schedule of the compiler's own kernels", "mlir",
     "contract-schedule", "ideas-schedule", "reply-schedule", "", "", "",
     "@__fastk_schedule", "transform.named_sequence @__fastk_schedule", "",
     "one block ```mlir with the whole schedule", "Write the schedule.", true},
    {Language::gpu, "a program in the gpu dialect", "mlir", "contract-gpu",
     "ideas-gpu", "reply-gpu", "plan", "example-gpu", "", "gpu.module",
     "a gpu.module", "\"steps\"",
     "one block ```mlir with the whole gpu.module and one block ```json with "
     "its plan",
     "Write the program and its plan.", false},
    // Models are not asked for it; they hear of programs that others wrote.
    {Language::ptx, "a program in PTX", "ptx", "", "", "", "", "", "", ".entry",
     "an .entry", "\"steps\"", "", "", false},
};

const PromptLanguage &llm::promptLanguageOf(Language language) {
  return *find_if(kLanguages, [&](const PromptLanguage &each) {
    return each.language == language;
  });
}

const PromptLanguage &llm::promptLanguageOf(Writing writing,
                                            const TargetDescription &target) {
  switch (writing) {
  case Writing::Schedules:
    return promptLanguageOf(Language::schedule);
  case Writing::GPU:
    return promptLanguageOf(Language::gpu);
  case Writing::Families:
  case Writing::Programs:
    break;
  }
  return promptLanguageOf(target.target == "host" ? Language::c
                                                  : Language::cuda);
}

//===----------------------------------------------------------------------===//
// What the compiler says
//===----------------------------------------------------------------------===//

/// Names without what they begin with up to the last dot of the first part,
/// those of one dialect in a line: "structured: fuse, generalize".
template <typename Names>
static std::string byDialect(const Names &names) {
  std::string text, dialect;
  for (StringRef name : names) {
    auto [front, rest] = name.split('.');
    if (rest.empty())
      std::swap(front, rest);
    if (text.empty() || front != dialect)
      text += (text.empty() ? "- " : "\n- ") +
              (front.empty() ? "" : "`transform." + front.str() + ".`: ");
    else
      text += ", ";
    text += "`" + rest.str() + "`";
    dialect = front.str();
  }
  return text + "\n";
}

template <typename Names>
static std::string quoted(const Names &names) {
  std::string text;
  for (StringRef name : names)
    text += (text.empty() ? "`" : ", `") + name.str() + "`";
  return text;
}

/// "multiples of 32, 32 to 1024".
static std::string valuesOf(const KernelChoice &choice) {
  std::string range = formatv("{0} to {1}", choice.least, choice.most);
  if (choice.multiple == 0)
    return "powers of two, " + range;
  return choice.multiple == 1
             ? range
             : formatv("multiples of {0}, {1}", choice.multiple, range).str();
}

PromptTemplates::Values llm::compilerRules() {
  // Ops without a dialect of their own first.
  std::vector<StringRef> ops, others;
  for (const std::string &op : scheduleOps())
    (StringRef(op).contains('.') ? others : ops).push_back(op);
  append_range(ops, others);
  std::string choices;
  for (const KernelChoice &choice : kernelChoices())
    choices += formatv("- `{0}` ({1}): {2}\n", choice.name, valuesOf(choice),
                       choice.meaning);
  return {
      {"schedule_ops", byDialect(ops)},
      {"kernel_numbers", choices},
      {"dialects", quoted(allowedProgramDialects())},
      {"gpu_ops", quoted(allowedGPUOps())},
      {"refused_ops", quoted(refusedProgramOps())},
  };
}

std::string llm::describeKernels(LoweringOp workload) {
  std::optional<CudaTarget> target = CudaTarget::parse(workload.getTarget());
  if (!target)
    return "";
  mlir::ScopedDiagnosticHandler quiet(
      workload.getContext(), [](mlir::Diagnostic &) { return success(); });
  FailureOr<std::vector<KernelDescription>> kernels =
      planDeviceKernels(workload, *target);
  if (failed(kernels))
    return "";
  std::string text;
  for (auto [index, kernel] : llvm::enumerate(*kernels)) {
    std::string numbers;
    for (auto &[name, value] : kernel.choices)
      numbers +=
          formatv("{0}{1} = {2}", numbers.empty() ? "" : ", ", name, value);
    text += formatv("- kernel {0}: {1}{2}{3}\n", index, kernel.kind,
                    numbers.empty() ? "" : "; ", numbers);
  }
  return text;
}
