//===- FastkPlanOps.td - How a GPU program is launched ------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_FASTKPLANOPS_TD
#define FASTK_DIALECT_FASTK_FASTKPLANOPS_TD

include "fastk/Dialect/Fastk/FastkDialect.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Fastk_Op<string mnemonic, list<Trait> traits = []>
    : Op<FastkDialect, mnemonic, traits>;

// In the plan of a lowering, or in a function whose kernels are beside it
// (fastk-lower-to-gpu).
class Fastk_PlanOp<string mnemonic, list<Trait> traits = []>
    : Fastk_Op<mnemonic, !listconcat(traits, [
        ParentOneOf<["LoweringOp", "::mlir::func::FuncOp"]>])>;

def Fastk_WorkspaceOp : Fastk_PlanOp<"workspace"> {
  let summary = "scratch memory of a program";
  let description = [{
    256-byte aligned. What it holds from an earlier call is undefined; with
    `zero` it is zeroed before the first step of every call.

    ```mlir
    %ws0 = fastk.workspace zero : memref<1024xi8>
    ```
  }];
  let arguments = (ins UnitAttr:$zero);
  let results = (outs MemRefRankOf<[I8], [1]>:$buffer);
  let assemblyFormat = "(`zero` $zero^)? attr-dict `:` type($buffer)";
}

def Fastk_TensorMapOp : Fastk_PlanOp<"tensor_map"> {
  let summary = "describes a tensor for the tensor memory accelerator";
  let description = [{
    The fields of `cuTensorMapEncodeTiled`, dimension 0 innermost. `strides` are
    in bytes and leave dimension 0 out; `offset` is in bytes. The words of the
    string attributes are those of the plan's JSON form, docs/formats/plan.md.

    ```mlir
    %map0 = fastk.tensor_map %in0 {element_type = "f16",
        dims = array<i64: 4096, 4096>, strides = array<i64: 8192>,
        box = array<i64: 64, 128>, swizzle = "128B"} : memref<4096x4096xf16>
    ```
  }];
  let arguments = (ins
    AnyStaticShapeMemRef:$buffer,
    DefaultValuedAttr<I64Attr, "0">:$offset,
    StrAttr:$element_type,
    DenseI64ArrayAttr:$dims,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
    DenseI64ArrayAttr:$box,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$element_strides,
    DefaultValuedStrAttr<StrAttr, "none">:$interleave,
    DefaultValuedStrAttr<StrAttr, "none">:$swizzle,
    DefaultValuedStrAttr<StrAttr, "none">:$l2_promotion,
    DefaultValuedStrAttr<StrAttr, "zero">:$oob_fill);
  let results = (outs Fastk_TensorMapType:$map);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Fastk_MemsetOp : Fastk_PlanOp<"memset"> {
  let summary = "sets bytes of a result or a workspace";
  let description = [{
    Sets `bytes` bytes, from byte `offset` on, to `value`.

    ```mlir
    fastk.memset %ws0 {bytes = 1024 : i64, value = 0 : i64} : memref<4096xi8>
    ```
  }];
  let arguments = (ins
    AnyStaticShapeMemRef:$buffer,
    DefaultValuedAttr<I64Attr, "0">:$offset,
    I64Attr:$bytes,
    DefaultValuedAttr<I64Attr, "0">:$value);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Fastk_LaunchOp : Fastk_PlanOp<"launch"> {
  let summary = "launches an entry of the program";
  let description = [{
    Launches run in order on one stream: each sees what the ones before it
    wrote. The arguments are buffers (passed as pointers, `offsets[i]` bytes from
    the start of argument i), numbers made by `arith.constant` and tensor maps.

    `cooperative`: all blocks are resident at once, so they may wait for each
    other. `overlaps_previous`: may start while the launch before it ends
    (programmatic stream serialisation).

    ```mlir
    fastk.launch "softmax" grid [8192, 1, 1] block [512, 1, 1]
      cluster [2, 1, 1] shared 131072 (%in0, %out0)
      : memref<4096x65536xf32>, memref<4096x65536xf32>
    ```
  }];
  let arguments = (ins
    StrAttr:$kernel,
    DenseI64ArrayAttr:$grid,
    DenseI64ArrayAttr:$block,
    OptionalAttr<DenseI64ArrayAttr>:$cluster,
    OptionalAttr<I64Attr>:$shared_bytes,
    UnitAttr:$cooperative,
    UnitAttr:$overlaps_previous,
    OptionalAttr<DenseI64ArrayAttr>:$offsets,
    Variadic<AnyType>:$arguments);
  let assemblyFormat = [{
    $kernel `grid` $grid `block` $block (`cluster` $cluster^)?
    (`shared` $shared_bytes^)? (`cooperative` $cooperative^)?
    (`overlaps_previous` $overlaps_previous^)?
    `(` $arguments `)` attr-dict (`:` type($arguments)^)?
  }];
  let hasVerifier = 1;
}

#endif // FASTK_DIALECT_FASTK_FASTKPLANOPS_TD
