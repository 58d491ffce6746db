//===- Kernel.cpp - A C kernel for a canonical pattern --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::SmallVector;

bool KernelEmitter::emit(Block &pattern, CKernel &kernel) {
  std::string signature;
  auto addParameter = [&](Type type, const std::string &name, bool isConst,
                          Buffer &buffer) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto elem = tensor ? elemOf(tensor.getElementType()) : std::nullopt;
    if (!elem || !tensor.hasStaticShape())
      return program.fail(
          "an operand that is not a static tensor of a type the "
          "catalog knows");
    buffer.pointer = name;
    buffer.elem = *elem;
    signature += (isConst ? "const " : "") + std::string(cTypeOf(*elem)) +
                 " *restrict " + name + ", ";
    return true;
  };
  for (auto [i, arg] : llvm::enumerate(pattern.getArguments())) {
    Buffer buffer;
    if (!addParameter(arg.getType(), "in" + std::to_string(i), true, buffer))
      return false;
    program.buffers[arg.getAsOpaquePointer()] = buffer;
  }
  Operation *terminator = pattern.getTerminator();
  std::vector<Buffer> outs;
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    Buffer buffer;
    if (!addParameter(operand.getType(), "out" + std::to_string(i), false,
                      buffer))
      return false;
    outs.push_back(buffer);
  }
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    Value root = stripReshapes(operand);
    inProgress.insert(root.getAsOpaquePointer());
    if (!produce(operand, outs[i]))
      return false;
    inProgress.erase(root.getAsOpaquePointer());
    program.buffers.insert({root.getAsOpaquePointer(), outs[i]});
  }
  if (!program.failure.empty())
    return false;
  if (program.workspaceBytes > kMaxWorkspace)
    return program.fail("the kernel needs more than 1 GiB of workspace");
  std::string unused;
  for (size_t i = 0; i < pattern.getNumArguments(); ++i)
    unused += "  (void)in" + std::to_string(i) + ";\n";
  if (!join("void fastk_kernel(" + signature + "void *workspace) {\n" + unused +
                "  (void)workspace;\n",
            kernel))
    return false;
  kernel.workspaceBytes = program.workspaceBytes;
  used["vectorBytes"] = machine.vectorBytes;
  kernel.parameters = used;
  kernel.stages = stages;
  kernel.refusals = refusals;
  return true;
}

CKernel catalog::emitCKernel(Block &pattern, const Machine &machine,
                             const Parameters &parameters,
                             StageFamilies &families) {
  // Work on a copy in which every named op is a generic.
  CKernel kernel;
  MLIRContext *context = pattern.getParentOp()->getContext();
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  Operation *terminator = pattern.getTerminator();
  auto function = func::FuncOp::create(
      builder, builder.getUnknownLoc(), "pattern",
      builder.getFunctionType(pattern.getArgumentTypes(),
                              terminator->getOperandTypes()));
  Block *body = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(pattern.getArguments(), body->getArguments());
  builder.setInsertionPointToStart(body);
  for (Operation &op : pattern.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value operand : terminator->getOperands())
    results.push_back(mapping.lookupOrDefault(operand));
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);

  // What nothing uses would count as a user of what it reads.
  for (bool erased = true; erased;) {
    erased = false;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op)) {
        op.erase();
        erased = true;
      }
  }
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()))
      named.push_back(op);
  });
  IRRewriter rewriter(context);
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op))) {
      kernel.failure = "a linalg op that has no generic form";
      return kernel;
    }
  }
  // Generics that fill: read like fills, through their bodies.
  Machine used = machine;
  auto width = parameters.find("vectorBytes");
  if (width != parameters.end() &&
      (width->second == 16 || width->second == 32 || width->second == 64) &&
      width->second <= machine.vectorBytes) {
    used.isNarrowed = width->second < machine.vectorBytes;
    used.vectorBytes = width->second;
  }
  KernelEmitter emitter(used, parameters, families);
  if (!emitter.emit(*body, kernel)) {
    kernel.failure = emitter.failure();
    kernel.source.clear();
  }
  return kernel;
}
