//===- FamilyStage.cpp - Stages that families write -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage whose operands lie in buffers is a workload of its own: a family for
// the host is filled in for it as for any other, and its program is a part of
// the kernel's, which calls it with the buffers. Names that parts define have
// the number of the stage behind them.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "StageBlock.h"

#include "fastk/Families/JoinedProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::StringRef;

families::WantedNumbers KernelEmitter::wantedNumbers(StringRef suffix) const {
  // What an idea says of all stages is newer than what its parent had.
  families::WantedNumbers wanted;
  for (const auto &[name, value] : parameters) {
    // Numbers of families are macros; the kernel's own are no business of
    // theirs.
    if (!llvm::isUpper(name.front()))
      continue;
    auto [number, stage] = StringRef(name).rsplit('_');
    if (stage.empty() || !llvm::all_of(stage, llvm::isDigit))
      wanted.first[name] = value;
    else if ("_" + stage.str() == suffix)
      wanted.others[number.str()] = value;
  }
  return wanted;
}

bool KernelEmitter::emitByFamily(llvm::ArrayRef<StringRef> cores, Value root,
                                 const Buffer &destination) {
  StageBlock stage(root, [&](Value value) {
    return program.buffers.count(value.getAsOpaquePointer()) != 0;
  });
  const std::string suffix = "_" + std::to_string(familyStages.size() + 1);
  std::string reasons, coreName;
  std::optional<StageFamilies::Filled> filled;
  for (StringRef name : cores) {
    std::string why;
    std::optional<families::CoreInstance> core =
        families::findCore(name, stage.body(), "host", why, machine);
    if (core)
      filled = families.fillIn(*core, wantedNumbers(suffix), suffix, why);
    coreName = name;
    if (filled)
      break;
    reasons += (reasons.empty() ? "no family writes the " : ", nor the ") +
               coreName + ": " + why;
  }
  if (!filled) {
    refusal = reasons;
    return program.fail(reasons);
  }

  std::string arguments;
  for (Value operand : stage.operands())
    arguments +=
        program.buffers.at(operand.getAsOpaquePointer()).pointer + ", ";
  const std::string workspace = program.workspacePointer(
      Elem::F32, program.reserve(filled->workspaceBytes));
  program.body += "  /* A " + coreName + ", by " + filled->family +
                  ". */\n  fastk_kernel" + suffix + "(" + arguments +
                  destination.pointer + ", " + workspace + ");\n";
  familyStages.push_back({std::move(*filled), suffix});
  stages.push_back(coreName);
  return true;
}

bool KernelEmitter::emitAsOneOf(llvm::ArrayRef<StringRef> cores, Value root,
                                const Buffer &destination) {
  return attempt([&] { return emitByFamily(cores, root, destination); });
}

bool KernelEmitter::join(StringRef signature, CKernel &kernel) {
  families::JoinedProgram joined;
  std::string why;
  bool isJoined = joined.addShared(preamble(program), why);
  for (const FamilyStage &stage : familyStages)
    isJoined = isJoined && joined.addShared(stage.helpers(), why);
  // Headers name all loops for every element, whether it needs them or not.
  joined.add("#pragma clang diagnostic push\n"
             "#pragma clang diagnostic ignored \"-Wunused-variable\"\n");
  for (const FamilyStage &stage : familyStages) {
    isJoined = isJoined && joined.addPart(stage.own(), stage.suffix, why);
    for (const families::TunedParameter &number : stage.filled.numbers.tuned) {
      used[number.name + stage.suffix] = number.value;
      kernel.values[number.name + stage.suffix] = number.values;
    }
  }
  joined.add("#pragma clang diagnostic pop\n");
  if (!isJoined)
    return program.fail(why);
  kernel.source = (familyStages.empty() ? preamble(program) : joined.text()) +
                  signature.str() + program.body + "}\n";
  return true;
}
