//===- FastkDialect.cpp - The fastk dialect -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Dialect/Fastk/RowFunction.h"
#include "fastk/Support/Sha256.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fastk;

#include "fastk/Dialect/Fastk/FastkDialect.cpp.inc"
#include "fastk/Dialect/Fastk/FastkEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fastk/Dialect/Fastk/FastkAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "fastk/Dialect/Fastk/FastkTypes.cpp.inc"

#define GET_OP_CLASSES
#include "fastk/Dialect/Fastk/FastkOps.cpp.inc"

void FastkDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fastk/Dialect/Fastk/FastkAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fastk/Dialect/Fastk/FastkTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fastk/Dialect/Fastk/FastkOps.cpp.inc"
      >();
}

/// Compares what a region takes and yields with what its op says. `what` names
/// the region in the message, `rule` the rule that the message ends in.
static LogicalResult verifySignature(Operation *op, Block &block,
                                     TypeRange inputs, TypeRange outputs,
                                     StringRef rule) {
  if (block.getArgumentTypes() != inputs)
    return op->emitOpError() << "body takes (" << block.getArgumentTypes()
                             << ") but the operands are (" << inputs
                             << ") (required by '" << rule << "')";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != outputs) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "body yields (" << yield.getValues().getTypes()
                              << ") but the results are (" << outputs
                              << ") (required by '" << rule << "')";
    diag.attachNote(yield.getLoc()) << "yielded here";
    return diag;
  }
  return success();
}

/// A region must end in fastk.yield before anything else is asked of it.
static LogicalResult verifyTerminated(Operation *op, Region &region,
                                      StringRef rule) {
  if (region.front().empty() || !isa<YieldOp>(region.front().back()))
    return op->emitOpError()
           << "region must end in 'fastk.yield' (required by '" << rule << "')";
  return success();
}

//===----------------------------------------------------------------------===//
// WorkloadOp
//===----------------------------------------------------------------------===//

LogicalResult WorkloadOp::verify() {
  if (failed(verifyTerminated(*this, getBody(), "fastk.workload")))
    return failure();
  return verifySignature(*this, *getBodyBlock(), getInputs().getTypes(),
                         getOutputs().getTypes(), "fastk.workload");
}

bool WorkloadOp::hasStaticShape() {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(getInputs().getTypes(), isStatic) &&
         llvm::all_of(getOutputs().getTypes(), isStatic);
}

//===----------------------------------------------------------------------===//
// LoweringOp
//===----------------------------------------------------------------------===//

std::string LoweringOp::symbolForKey(StringRef key) {
  return ("w_" + key.take_front(16)).str();
}

std::string LoweringOp::computeSeal() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getKey() << "\n"
     << getTarget() << "\n"
     << stringifyPrecision(getPrecision()) << "\n"
     << stringifyLanguage(getLanguage()) << "\n"
     << static_cast<int64_t>(getWorkspace()) << "\n"
     << getDigest().value_or("") << "\n";
  // A plan that does not read has a diagnostic of its own.
  if (!getPlan().empty())
    if (FailureOr<worker::LaunchPlan> plan = readPlan(*this); succeeded(plan))
      os << worker::toJSON(*plan);
  return sha256(text);
}

FunctionType LoweringOp::getWorkloadType() {
  Block *block = getPatternBlock();
  return FunctionType::get(getContext(), block->getArgumentTypes(),
                           block->getTerminator()->getOperandTypes());
}

LogicalResult LoweringOp::verify() {
  if (getFormatVersion() != kFormatVersion)
    return emitOpError() << "has format version " << getFormatVersion()
                         << " but this fastk reads version " << kFormatVersion
                         << " (required by 'fastk.format_version')";
  if (getKey().size() != 64 || !llvm::all_of(getKey(), [](char c) {
        return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
      }))
    return emitOpError() << "key '" << getKey()
                         << "' is not 64 lower-case hex digits (required by "
                            "'fastk.key')";
  if (getSymName() != symbolForKey(getKey()))
    return emitOpError() << "symbol '@" << getSymName() << "' must be '@"
                         << symbolForKey(getKey())
                         << "', from its key (required by 'fastk.key')";
  // The accessor is unsigned; the attribute is not.
  if (int64_t bytes = getWorkspaceAttr().getInt(); bytes < 0)
    return emitOpError() << "workspace of " << bytes
                         << " bytes is negative (required by "
                            "'fastk.workspace')";
  bool isDefault = getLanguage() == Language::generic;
  if (isDefault && (getFile() || getSource() || getDigest()))
    return emitOpError()
           << "language 'default' has no program: drop file, digest and source "
              "(required by 'fastk.language')";
  if (!isDefault && (!getFile() || !getDigest()))
    return emitOpError() << "language '" << stringifyLanguage(getLanguage())
                         << "' needs the program's file and digest (required "
                            "by 'fastk.language')";
  if (auto source = getSource()) {
    std::string digest = sha256(*source);
    if (digest != *getDigest())
      return emitOpError() << "program " << *getFile() << " has digest "
                           << digest << " but the lowering was recorded with "
                           << *getDigest() << " (required by 'fastk.digest')";
  }
  return success();
}

LogicalResult LoweringOp::verifyRegions() {
  // Not in verify(): the plan's ops have the attributes that they must have
  // only when they are verified themselves.
  if (auto seal = getSeal(); seal && *seal != computeSeal())
    return emitOpError() << "was sealed with another key, target, precision, "
                            "language, workspace, digest or plan: one of "
                            "them was edited (required by 'fastk.seal')";
  if (failed(verifyTerminated(*this, getPattern(), "fastk.lowering")))
    return failure();
  // The one check that makes an edited file harmless: the meaning of a lowering
  // is its pattern, and the pattern is what the key names.
  std::string key = computeKey(getPattern());
  if (key != getKey())
    return emitOpError() << "pattern hashes to " << key << " but the key says "
                         << getKey()
                         << ": the pattern or the key was edited (required by "
                            "'fastk.key')";
  return verifyPlan(*this);
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verify() {
  if (!getInits().empty() && !getOutputs().empty())
    return emitOpError() << "has both results and inits: results on tensors, "
                            "inits on memrefs (required by 'fastk.call')";
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *callee =
      symbolTable.lookupNearestSymbolFrom(*this, getLoweringAttr());
  FunctionType type;
  if (auto lowering = dyn_cast_or_null<LoweringOp>(callee))
    type = lowering.getWorkloadType();
  else if (auto rows = dyn_cast_or_null<func::FuncOp>(callee);
           rows && rows->hasAttr(kRowsAttr))
    type = rows.getFunctionType();
  if (!type)
    return emitOpError() << "'" << getLoweringAttr()
                         << "' is not a fastk.lowering of this module "
                            "(required by 'fastk.call')";
  auto shapeOf = [](Type type) -> Type {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return RankedTensorType::get(shaped.getShape(), shaped.getElementType());
    return type;
  };
  TypeRange outs = getOutputs().empty() ? TypeRange(getInits().getTypes())
                                        : TypeRange(getOutputs().getTypes());
  auto same = [&](TypeRange ours, TypeRange theirs) {
    return ours.size() == theirs.size() &&
           llvm::all_of_zip(ours, theirs, [&](Type a, Type b) {
             return shapeOf(a) == shapeOf(b);
           });
  };
  if (same(getInputs().getTypes(), type.getInputs()) &&
      same(outs, type.getResults()))
    return success();
  InFlightDiagnostic diag = emitOpError()
                            << "passes (" << getInputs().getTypes() << ") -> ("
                            << outs << ") to a lowering of type " << type
                            << " (required by 'fastk.call')";
  diag.attachNote(callee->getLoc()) << "lowering defined here";
  return diag;
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // On tensors a call is a pure function.
  for (OpOperand &operand : getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : getInitsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
}
