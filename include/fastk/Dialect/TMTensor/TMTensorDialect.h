//===- TMTensorDialect.h - torch-mlir's tm_tensor dialect -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_TMTENSOR_TMTENSORDIALECT_H
#define FASTK_DIALECT_TMTENSOR_TMTENSORDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fastk/Dialect/TMTensor/TMTensorDialect.h.inc"

#define GET_OP_CLASSES
#include "fastk/Dialect/TMTensor/TMTensorOps.h.inc"

#endif // FASTK_DIALECT_TMTENSOR_TMTENSORDIALECT_H
