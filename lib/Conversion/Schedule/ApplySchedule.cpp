//===- ApplySchedule.cpp - A transform-dialect schedule to its function ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstError.h"
#include "ScheduleRules.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fastk;

using transform::NamedSequenceOp;

/// Applies a sequence to the one function of a module.
static LogicalResult apply(NamedSequenceOp entry, func::FuncOp func) {
  transform::TransformOptions options;
  options.enableExpensiveChecks(false);
  return transform::applyTransformNamedSequence(func, entry, ModuleOp(),
                                                options);
}

static NamedSequenceOp findEntry(ModuleOp schedule) {
  return schedule.lookupSymbol<NamedSequenceOp>(kScheduleEntry);
}

/// The op of the sequence that fails: what goes wrong at an op of the pattern
/// is told of that op alone. Applies longer and longer beginnings of it.
static Operation *findFailing(ModuleOp schedule, ModuleOp pattern) {
  ScopedDiagnosticHandler quiet(schedule.getContext(),
                                [](Diagnostic &) { return success(); });
  size_t kept = 0;
  for (Operation &op : findEntry(schedule).getBody().front()) {
    ++kept;
    OwningOpRef<ModuleOp> beginning(schedule.clone()), copy(pattern.clone());
    NamedSequenceOp entry = findEntry(*beginning);
    Block &body = entry.getBody().front();
    while (body.getOperations().size() > kept + 1)
      body.getTerminator()->getPrevNode()->erase();
    if (failed(apply(entry, *copy->getOps<func::FuncOp>().begin())))
      return &op;
  }
  return nullptr;
}

LogicalResult fastk::applySchedule(LoweringOp lowering, func::FuncOp func) {
  auto source = lowering.getSource();
  if (!source)
    return lowering.emitOpError()
           << "has no source: read " << *lowering.getFile()
           << " into it first (required by 'fastk.language')";
  MLIRContext *context = lowering.getContext();
  StringRef name = *lowering.getFile();
  auto complain = [&](StringRef place) {
    return lowering.emitOpError()
           << "schedule " << (place.empty() ? name : place) << " ";
  };
  constexpr StringLiteral kRule = " (required by 'fastk.schedule')";
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(*source, name), SMLoc());
  OwningOpRef<ModuleOp> schedule;
  std::string place, problem;
  {
    FirstError error(context, name);
    schedule = parseSourceFile<ModuleOp>(manager, ParserConfig(context));
    std::tie(place, problem) = std::tie(error.place, error.text);
  }
  if (!schedule)
    return complain(place) << "does not parse: " << problem << kRule;
  NamedSequenceOp entry = findEntry(*schedule);
  if (!entry || entry.isDeclaration() ||
      entry.getFunctionType().getNumInputs() != 1 ||
      entry.getFunctionType().getNumResults() != 0 ||
      !(*schedule)->hasAttr(
          transform::TransformDialect::kWithNamedSequenceAttrName))
    return complain("")
           << "must be a module with 'transform.with_named_sequence' and a "
              "transform.named_sequence @"
           << kScheduleEntry << " of one argument and no result" << kRule;
  // Refused before any of it runs.
  if (failed(checkScheduleOps(*schedule, lowering)))
    return failure();
  FunctionType before = func.getFunctionType();
  OwningOpRef<ModuleOp> pattern(func->getParentOfType<ModuleOp>().clone());
  bool isApplied = false;
  {
    FirstError error(context, name);
    isApplied = succeeded(apply(entry, func));
    std::tie(place, problem) = std::tie(error.place, error.text);
  }
  if (!isApplied) {
    Operation *failing =
        place.empty() ? findFailing(*schedule, *pattern) : nullptr;
    if (failing)
      place = FirstError::placeOf(failing->getLoc(), name);
    InFlightDiagnostic diagnostic = complain(place) << "could not be applied: ";
    if (failing)
      diagnostic << "'" << failing->getName() << "': ";
    return diagnostic << problem << kRule;
  }
  // A schedule may rewrite the body, never the contract.
  if (func.getFunctionType() != before)
    return complain("") << "changes the function's type" << kRule;
  if (failed(verify(func->getParentOp())))
    return complain("") << "leaves invalid IR" << kRule;
  return success();
}
