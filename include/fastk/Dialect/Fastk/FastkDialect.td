//===- FastkDialect.td - The fastk dialect ------------------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_FASTKDIALECT_TD
#define FASTK_DIALECT_FASTK_FASTKDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def FastkDialect : Dialect {
  let name = "fastk";
  let cppNamespace = "::fastk";
  let summary = "Workloads, and the kernels that search found for them";
  let description = [{
    A *workload* is a subgraph of linalg, arith, math and tensor ops that is
    optimised as one. A *lowering* is a kernel for one workload, found by
    search, stored as a pattern with the program that replaces it. A *call* is a
    workload that was replaced by a lowering.

    Winners live in a bank, a directory with one folder per lowering; see
    docs/formats/bank.md. The key that names a workload is defined in
    docs/key.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

// The error class a kernel was measured to hold. The order matters: a later
// class accepts everything that an earlier one does.
def Fastk_PrecisionEnum : I32EnumAttr<"Precision", "measured error class", [
    I32EnumAttrCase<"ieee", 0>,
    I32EnumAttrCase<"tf32", 1>,
    I32EnumAttrCase<"half", 2>]> {
  let cppNamespace = "::fastk";
  let genSpecializedAttr = 0;
}

def Fastk_LanguageEnum : I32EnumAttr<"Language", "language a variant is written in", [
    I32EnumAttrCase<"generic", 0, "default">,
    I32EnumAttrCase<"schedule", 1>,
    I32EnumAttrCase<"c", 2>,
    I32EnumAttrCase<"cuda", 3>,
    I32EnumAttrCase<"gpu", 4>,
    I32EnumAttrCase<"ptx", 5>]> {
  let cppNamespace = "::fastk";
  let genSpecializedAttr = 0;
}

// Spelled out in files that people read: #fastk.precision<ieee>.
def Fastk_Precision
    : EnumAttr<FastkDialect, Fastk_PrecisionEnum, "precision"> {
  let assemblyFormat = "`<` $value `>`";
}

def Fastk_Language
    : EnumAttr<FastkDialect, Fastk_LanguageEnum, "language"> {
  let assemblyFormat = "`<` $value `>`";
}

// What a kernel takes by value to move tiles with the tensor memory accelerator.
def Fastk_TensorMapType : TypeDef<FastkDialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "an encoded tensor map, 128 bytes by value";
}

#endif // FASTK_DIALECT_FASTK_FASTKDIALECT_TD
