//===- CallBufferization.cpp - fastk.call on memrefs ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reads contiguous buffers and writes all of its results, which alias
// nothing: operands of another layout are copied, results are fresh.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "TMTensor/LowerTMTensor.h"
#include "fastk/Conversion/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
struct CallBufferization
    : BufferizableOpInterface::ExternalModel<CallBufferization, fastk::CallOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  bool bufferizesToAllocation(Operation *, Value) const { return true; }

  FailureOr<BufferLikeType> getBufferType(Operation *, Value value,
                                          const BufferizationOptions &,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    auto type = cast<RankedTensorType>(value.getType());
    return cast<BufferLikeType>(
        MemRefType::get(type.getShape(), type.getElementType()));
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<fastk::CallOp>(op);
    Location loc = call.getLoc();
    auto isStatic = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape();
    };
    if (!llvm::all_of(call->getOperandTypes(), isStatic) ||
        !llvm::all_of(call->getResultTypes(), isStatic))
      return call.emitOpError() << "needs tensors of static shape (required by "
                                   "'fastk.call')";
    SmallVector<Value> inputs, inits;
    for (Value input : call.getInputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
      if (failed(buffer))
        return failure();
      auto type = cast<MemRefType>(buffer->getType());
      if (!type.getLayout().isIdentity()) {
        auto plain = MemRefType::get(type.getShape(), type.getElementType());
        FailureOr<Value> copy = options.createAlloc(rewriter, loc, plain, {});
        if (failed(copy) ||
            failed(options.createMemCpy(rewriter, loc, *buffer, *copy)))
          return failure();
        buffer = *copy;
      }
      inputs.push_back(*buffer);
    }
    for (Type output : call.getOutputs().getTypes()) {
      auto tensor = cast<RankedTensorType>(output);
      auto plain = MemRefType::get(tensor.getShape(), tensor.getElementType());
      FailureOr<Value> alloc = options.createAlloc(rewriter, loc, plain, {});
      if (failed(alloc))
        return failure();
      inits.push_back(*alloc);
    }
    fastk::CallOp::create(rewriter, loc, TypeRange{}, call.getLoweringAttr(),
                          inputs, inits);
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void fastk::registerCallBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FastkDialect *) {
    fastk::CallOp::attachInterface<CallBufferization>(*context);
  });
}

void fastk::registerFastkBufferization(DialectRegistry &registry) {
  registerCallBufferization(registry);
  registerTMTensorBufferization(registry);
}
