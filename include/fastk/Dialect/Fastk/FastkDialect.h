//===- FastkDialect.h - The fastk dialect -----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_FASTKDIALECT_H
#define FASTK_DIALECT_FASTK_FASTKDIALECT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fastk/Dialect/Fastk/FastkDialect.h.inc"
#include "fastk/Dialect/Fastk/FastkEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fastk/Dialect/Fastk/FastkAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fastk/Dialect/Fastk/FastkTypes.h.inc"

#define GET_OP_CLASSES
#include "fastk/Dialect/Fastk/FastkOps.h.inc"

#endif // FASTK_DIALECT_FASTK_FASTKDIALECT_H
