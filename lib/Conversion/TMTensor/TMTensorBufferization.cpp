//===- TMTensorBufferization.cpp - tm_tensor to memrefs -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fastk::tm_tensor;

/// True when the initial value of `operand` has no influence.
static bool isOverwritten(Operation *op, OpOperand &operand) {
  auto scan = dyn_cast<ScanOp>(op);
  if (!scan || !scan.isDpsInit(&operand))
    return false;
  // Without an element the accumulator stays as it is.
  ShapedType input = scan.getInputType(0);
  return operand.get() == scan.getOutputs()[0] &&
         operand.getOperandNumber() == scan.getInputs().size() &&
         input.hasStaticShape();
}

namespace {
template <typename OpTy>
struct Bufferization
    : DstBufferizableOpInterfaceExternalModel<Bufferization<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !isOverwritten(op, operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    if (dps.hasPureBufferSemantics())
      return success();
    SmallVector<Value> operands, outputs;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isa<TensorType>(value.getType())) {
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        value = *buffer;
      }
      operands.push_back(value);
      if (dps.isDpsInit(&operand))
        outputs.push_back(value);
    }
    rewriter.setInsertionPoint(op);
    Operation *onBuffers = cloneWithoutRegions(rewriter, op, {}, operands);
    for (auto [from, to] : llvm::zip(op->getRegions(), onBuffers->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.begin());
    replaceOpWithBufferizedValues(rewriter, op, outputs);
    return success();
  }
};
} // namespace

void fastk::registerTMTensorBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TMTensorDialect *) {
    ScanOp::attachInterface<Bufferization<ScanOp>>(*context);
    ScatterOp::attachInterface<Bufferization<ScatterOp>>(*context);
    SortOp::attachInterface<Bufferization<SortOp>>(*context);
    TopkOp::attachInterface<Bufferization<TopkOp>>(*context);
  });
}
