//===- ScaffoldFolder.cpp - The files of a scaffold -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../LLM/WorkloadText.h"
#include "../LLM/WritePrompts.h"
#include "PlainText.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/LLM/PromptTemplates.h"
#include "fastk/Propose/Scaffold.h"
#include "fastk/Support/ShellWord.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;
using llvm::formatv;

/// More IR than a person reads; the whole is in workload.mlir.
static constexpr size_t kMostIR = 64 * 1024;

namespace {
/// What all texts of one folder are about.
struct Scaffold {
  const ScaffoldRequest &request;
  WorkloadFeatures features;
  /// Empty: there is none, and why.
  std::optional<PlainProgram> plain;
  std::string whyNone;

  StringRef key() const {
    LoweringOp workload = request.workload;
    return workload.getKey();
  }
  bool isCuda() const { return request.target != "host"; }
  StringRef programFile() const { return isCuda() ? "kernel.cu" : "kernel.c"; }
  StringRef language() const { return isCuda() ? "CUDA-C" : "C"; }
};
} // namespace

//===----------------------------------------------------------------------===//
// workload.mlir, workload.md, contract.md
//===----------------------------------------------------------------------===//

/// The workload as a model of its own, operands in canonical order.
static std::string writeModel(const ScaffoldRequest &request) {
  LoweringOp lowering = request.workload;
  MLIRContext *context = lowering.getContext();
  context->getOrLoadDialect<func::FuncDialect>();
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module->getBody());
  FunctionType type = lowering.getWorkloadType();
  auto function = func::FuncOp::create(builder, loc, "workload", type);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  auto workload =
      WorkloadOp::create(builder, loc, type.getResults(), request.name,
                         ValueRange(function.getArguments()));
  IRMapping mapping;
  lowering.getPattern().cloneInto(&workload.getBody(), mapping);
  func::ReturnOp::create(builder, loc, workload.getResults());
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// The workload " << request.name << ", as a model.\n";
  module->print(stream);
  return text;
}

/// A line for each tensor: its name, its type in a program, its strides.
static std::string listArguments(const Scaffold &scaffold) {
  LoweringOp workload = scaffold.request.workload;
  FunctionType type = workload.getWorkloadType();
  PlainLanguage language(scaffold.isCuda() ? Spelling::Cuda : Spelling::C);
  std::string text =
      "| argument | type | strides, in elements |\n|---|---|---|\n";
  auto add = [&](const std::string &name, Type each, StringRef prefix) {
    auto tensor = dyn_cast<RankedTensorType>(each);
    std::optional<Elem> elem = elemOf(each);
    if (!tensor || !elem)
      return;
    std::string strides;
    for (int64_t stride : computeStrides(tensor.getShape()))
      strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
    text += formatv("| `{0}` | `{1}{2} *` | {3} |\n", name, prefix,
                    language.memoryType(*elem),
                    strides.empty() ? "one element" : strides);
  };
  for (auto [number, each] : llvm::enumerate(type.getInputs()))
    add("in" + std::to_string(number), each, "const ");
  for (auto [number, each] : llvm::enumerate(type.getResults()))
    add("out" + std::to_string(number), each, "");
  return text;
}

static std::string writeWorkload(const Scaffold &scaffold) {
  const ScaffoldRequest &request = scaffold.request;
  std::string text = formatv(
      "# What {0} computes\n\nKey: `{1}`\n\n{2}\n\n## Operands and "
      "results\n\n",
      request.name, scaffold.key(), llm::describeKind(scaffold.features));
  text += llm::describeBuffers(request.workload, scaffold.features);
  text += "\n" + listArguments(scaffold) + R"(
This is their order, in programs and in plans: that of the canonical form, which may be another than the model's.
All are contiguous and row-major, the last index is the innermost. They do not overlap. Operands are never written. Results hold NaN when a call begins, and every element
is to be written in every call. i1 is a byte that is 0 or 1.

## Loops

The definition, op after op; what is `reduced over` a loop is combined into what it `begins as`.

```text
)" + llm::describeLoops(request.workload) +
          formatv(R"(```

## How near a result has to be

The accepted class is `{0}`: `contract.md` says what it allows. The definition is on real numbers, so any order
of sums is right.

## IR

The canonical form, whose SHA-256 is the key. `workload.mlir` has it as a model.

```mlir
)",
                  request.precision)
              .str() +
          llm::printPattern(request.workload, kMostIR) + "```\n";
  return text;
}

/// What language models are told as well.
static llvm::Expected<std::string> writeContract(const Scaffold &scaffold) {
  llvm::Expected<PromptTemplates> templates = PromptTemplates::load();
  if (!templates)
    return templates.takeError();
  PromptTemplates::Values values = llm::contractNumbers();
  values["repetition"] = templates->text("repetition-free").str();
  std::string text = "# The contract\n\nThe texts that language models are "
                     "told, too. docs/validation.md has all of it.\n\n";
  text += templates
              ->text(scaffold.isCuda() ? StringRef("contract-cuda")
                                       : StringRef("contract-c"))
              .str();
  if (scaffold.isCuda())
    for (StringRef part : {"plan", "prelude", "example-cuda"})
      text += "\n" + templates->text(part).str();
  text += "\n" + templates->user("rules", values) + "\n## The class " +
          scaffold.request.precision + "\n\n" +
          templates->user("precision-" + scaffold.request.precision, values);
  return text;
}

//===----------------------------------------------------------------------===//
// The plain variant
//===----------------------------------------------------------------------===//

static std::string list(ArrayRef<std::string> words) {
  std::string text;
  for (const std::string &each : words)
    text += (text.empty() ? "\"" : ", \"") + each + "\"";
  return text;
}

/// On a GPU as a person writes it: a line for each launch.
static std::string writePlan(const Scaffold &scaffold) {
  const PlainProgram &plain = *scaffold.plain;
  std::string key = scaffold.key().str();
  if (!scaffold.isCuda())
    return formatv("{{\"key\": \"{0}\", \"workspace_bytes\": {1}}\n", key,
                   plain.workspaceBytes);
  std::string text = "{\"format\": 1, \"key\": \"" + key + "\",\n";
  if (!plain.workspaces.empty()) {
    text += " \"workspaces\": [";
    for (auto [number, bytes] : llvm::enumerate(plain.workspaces))
      text += (number ? ", " : "") + formatv("{{\"bytes\": {0}}", bytes).str();
    text += "],\n";
  }
  text += " \"steps\": [\n";
  for (const PlainStep &step : plain.steps) {
    if (&step != &plain.steps.front())
      text += ",\n";
    text += formatv("  {{\"launch\": \"{0}\", \"grid\": [{1}], \"block\": "
                    "[{2}],\n   \"arguments\": [{3}]}",
                    step.name, llvm::divideCeil(step.points, kBlockThreads),
                    kBlockThreads, list(step.buffers));
  }
  return text + "]}\n";
}

static std::string programHead(const Scaffold &scaffold) {
  const ScaffoldRequest &request = scaffold.request;
  return formatv("// {0} (key {1}), op by op: {2}\n// of a result, with loops "
                 "where it is reduced. ../workload.md says what\n// it "
                 "computes, ../contract.md what a program may do.\n\n",
                 request.name, scaffold.key().take_front(8),
                 scaffold.isCuda() ? "a thread for each element"
                                   : "a loop over the elements")
      .str();
}

static constexpr llvm::StringLiteral kIdea =
    R"(# Op by op, as it is defined
Category: control flow and loops

Where a kernel of one's own begins: right, and slow. Each step computes an element of its result for itself.
)";

//===----------------------------------------------------------------------===//
// README.md
//===----------------------------------------------------------------------===//

/// What each field of the plan says here, and where it is told.
static std::string explainPlan(const Scaffold &scaffold) {
  const PlainProgram &plain = *scaffold.plain;
  if (!scaffold.isCuda())
    return formatv("`plan.json` holds `workspace_bytes`, here {0}: the scratch "
                   "memory that the last argument points to, 64-byte aligned. "
                   "The stack has 6 MiB. `key` restricts the variant to this "
                   "workload.\n",
                   plain.workspaceBytes);
  const PlainStep &first = plain.steps.front();
  return formatv(
      R"(`plan.json` says how the program is launched. It is all the host code that there is; docs/formats/plan.md has
every field and rule.

| field | here | what it is |
|---|---|---|
| `key` | this workload's | restricts the variant to it; leave it out and it is tried on every workload |
| `workspaces` | {0} | scratch memory `ws0`, `ws1`, ...: bytes, 256-byte aligned, undefined when a call begins unless `"zero": true` |
| `steps` | {1} | launches and memsets, one after the other on one stream: each sees what those before it wrote |
| `launch` | `{2}`, ... | the `extern "C" __global__` entry |
| `grid` | [{3}] | blocks: for a thread an element, the elements over the threads of a block, rounded up |
| `block` | [{4}] | threads of a block; agree with `__launch_bounds__` |
| `arguments` | `in0`, `ws0`, `out0`, ... | one for each parameter, in order; numbers are `{{"i32": 5}` |
| `shared_bytes` | 0 | dynamic shared memory, at most 232448 on sm_90; static shared memory needs no field |
| `cluster`, `cooperative`, `overlaps_previous` | none | clusters, grid barriers, programmatic launches |
| `tensor_maps` | none | `map0`, ... for TMA |
)",
      plain.workspaces.empty() ? "none"
                               : std::to_string(plain.workspaces.size()),
      plain.steps.size(), first.name,
      llvm::divideCeil(first.points, kBlockThreads), kBlockThreads);
}

static std::string listSteps(const PlainProgram &plain) {
  std::string text =
      "| step | computes | elements | uses |\n|---|---|---|---|\n";
  for (const PlainStep &step : plain.steps)
    text += formatv("| `{0}` | {1} | {2} | {3} |\n", step.name, step.what,
                    step.points, llvm::join(step.buffers, ", "));
  return text;
}

static std::string writeReadme(const Scaffold &scaffold) {
  const ScaffoldRequest &request = scaffold.request;
  bool isCuda = scaffold.isCuda();
  std::string folder = shellWord(request.folder);
  std::string search = formatv(
      "fastk-opt {0}/workload.mlir --target={1}{2} --search=all \\\n"
      "    --proposer=files:{0} --bank={0}/.bank --report={0}/report.json -o "
      "{0}/compiled.mlir",
      folder, request.target,
      request.precision == "ieee" ? "" : " --precision=" + request.precision);
  std::string text = formatv(
      R"(# A kernel of one's own for {0}

Workload `{0}`, key `{1}`, for `{2}`, class `{3}`.

| file | what it is |
|---|---|
| `workload.md` | what a kernel has to compute: operands and results in order, loops, IR |
| `contract.md` | what a program may do, and how near its results have to be |
| `workload.mlir` | the workload as a model, for the commands below |
)",
      request.name, scaffold.key(), request.target, request.precision);
  if (scaffold.plain)
    text += formatv("| `plain/{0}` | a program that is right, and slow |\n"
                    "| `plain/plan.json` | {1} |\n"
                    "| `plain/idea.md` | its title, its category and why it "
                    "should pay: for reports |\n",
                    scaffold.programFile(),
                    isCuda ? "how it is launched" : "its scratch memory");
  if (isCuda)
    text +=
        "| `fastk_prelude.cuh` | a copy to read: what programs have without "
        "an include |\n";
  if (scaffold.plain)
    text += formatv(R"(
## The plain program

{0}
{1}
)",
                    listSteps(*scaffold.plain), explainPlan(scaffold));
  else
    text += formatv(R"(
## There is no plain program

{0}. Write one into a folder of this one: `{1}`, `plan.json` and `idea.md`, as docs/search.md and docs/formats/plan.md
say. The commands are the same.
)",
                    scaffold.whyNone, scaffold.programFile());
  text += formatv(R"(
## Your own

A variant is a folder in this one; its name is the idea's. All of them are judged and timed side by side.

```text
cp -r {0}/plain {0}/mine
```

Edit `mine/idea.md` and `mine/{1}`{2}. Numbers that a search may vary are macros with a list, as `#define TILE 64 // tune: 32,
64, 128`.

## Judge and time

Every variant is judged on fresh inputs against the workload in f64, and timed beside the default lowering. One that is surely
slower than 1.3 times the best is `slow`, and not timed further: so may the plain program be. A search that is done runs nothing
again: after an edit, or for another variant, add `--journal={0}/.journal2`, and so on.

```text
{3}
```

)",
                  folder, scaffold.programFile(),
                  isCuda ? " and, where it launches otherwise, `mine/plan.json`"
                         : "",
                  search);
  if (isCuda)
    text += formatv(
        R"(On a machine without the GPU add `--evaluator=spool:{0}/.jobs`, answer with `fastk-worker --spool {0}/.jobs` where
the GPU is, and run the same command again (docs/workers.md).

## PTX, resources, machine code

```text
nvcc -arch={1} -std=c++17 -include {0}/fastk_prelude.cuh -ptx {0}/mine/kernel.cu -o mine.ptx
nvcc -arch={1} -std=c++17 -include {0}/fastk_prelude.cuh -cubin --resource-usage {0}/mine/kernel.cu -o mine.cubin
cuobjdump -sass mine.cubin
```

Registers, spills and shared memory as they were judged are in the verdicts, with a spool in `{0}/.jobs/job-*/verdict.json`.
docs/kernel-authors.md shows how to profile a winner with ncu.
)",
        folder, StringRef(request.target).split(':').second);
  text += formatv(R"(
## Keep the winner

The fastest variant that is faster than the default lowering is a winner in `{0}/.bank`:

```text
fastk-bank show {0}/.bank
fastk-bank merge BANK {0}/.bank
fastk-opt MODEL --target={1} --bank=BANK --require-hits=1 -o compiled.mlir
```

`merge` measures it once more beside what `BANK` has (`--by-record` goes by what was measured here).
)",
                  folder, request.target);
  return text;
}

llvm::Expected<std::map<std::string, std::string>>
scaffold::writeScaffold(const ScaffoldRequest &request) {
  LoweringOp workload = request.workload;
  Scaffold scaffold{request, analyzeWorkload(workload.getPattern()), {}, ""};
  llvm::Expected<PlainProgram> plain = writePlainProgram(
      workload, scaffold.isCuda() ? Spelling::Cuda : Spelling::C);
  if (plain)
    scaffold.plain = std::move(*plain);
  else
    scaffold.whyNone = llvm::toString(plain.takeError());
  std::map<std::string, std::string> files;
  files["README.md"] = writeReadme(scaffold);
  files["workload.md"] = writeWorkload(scaffold);
  files["workload.mlir"] = writeModel(request);
  if (llvm::Error error =
          writeContract(scaffold).moveInto(files["contract.md"]))
    return std::move(error);
  if (scaffold.isCuda())
    files["fastk_prelude.cuh"] = request.prelude;
  if (!scaffold.plain)
    return files;
  files["plain/" + scaffold.programFile().str()] =
      programHead(scaffold) + scaffold.plain->program;
  files["plain/plan.json"] = writePlan(scaffold);
  files["plain/idea.md"] = kIdea.str();
  return files;
}
