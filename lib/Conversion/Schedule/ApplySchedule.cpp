//===- ApplySchedule.cpp - A transform-dialect schedule to its function ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

/// The named sequence that a schedule variant must define.
static constexpr StringLiteral kScheduleEntry = "__fastk_schedule";

LogicalResult fastk::applySchedule(LoweringOp lowering, func::FuncOp func) {
  auto source = lowering.getSource();
  if (!source)
    return lowering.emitOpError()
           << "has no source: read " << *lowering.getFile()
           << " into it first (required by 'fastk.language')";
  MLIRContext *context = lowering.getContext();
  auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(*source, *lowering.getFile());
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(std::move(buffer), SMLoc());
  ParserConfig config(context);
  OwningOpRef<ModuleOp> schedule = parseSourceFile<ModuleOp>(manager, config);
  if (!schedule)
    return lowering.emitOpError()
           << "schedule " << *lowering.getFile()
           << " does not parse (required by 'fastk.schedule')";
  auto entry =
      schedule->lookupSymbol<transform::NamedSequenceOp>(kScheduleEntry);
  if (!entry || entry.isDeclaration() ||
      entry.getFunctionType().getNumInputs() != 1 ||
      entry.getFunctionType().getNumResults() != 0 ||
      !(*schedule)->hasAttr(
          transform::TransformDialect::kWithNamedSequenceAttrName))
    return lowering.emitOpError()
           << "schedule " << *lowering.getFile()
           << " must be a module with 'transform.with_named_sequence' and a "
              "transform.named_sequence @"
           << kScheduleEntry
           << " of one argument and no result (required by 'fastk.schedule')";
  // Refused before any of it runs.
  if (failed(checkScheduleOps(*schedule, lowering)))
    return failure();
  FunctionType before = func.getFunctionType();
  transform::TransformOptions options;
  options.enableExpensiveChecks(false);
  if (failed(transform::applyTransformNamedSequence(func, entry, ModuleOp(),
                                                    options)))
    return lowering.emitOpError()
           << "schedule " << *lowering.getFile()
           << " could not be applied (required by 'fastk.schedule')";
  // A schedule may rewrite the body, never the contract.
  if (func.getFunctionType() != before)
    return lowering.emitOpError()
           << "schedule " << *lowering.getFile()
           << " changes the function's type (required by 'fastk.schedule')";
  if (failed(verify(func->getParentOp())))
    return lowering.emitOpError()
           << "schedule " << *lowering.getFile()
           << " leaves invalid IR (required by 'fastk.schedule')";
  return success();
}
