//===- TMTensorOps.td - torch-mlir's tm_tensor ops ---------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What torch-mlir has no linalg form for, in its syntax: stock MLIR does not
// know the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_TMTENSOR_TMTENSOROPS_TD
#define FASTK_DIALECT_TMTENSOR_TMTENSOROPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TMTensorDialect : Dialect {
  let name = "tm_tensor";
  let cppNamespace = "::fastk::tm_tensor";
  let summary = "Scans, scatters, sorts and attention as torch-mlir writes them";
  let description = [{
    The ops that torch-mlir leaves beside linalg, in its own assembly. But for
    scans, under `fusion=whole` or with a winner, they are no part of workloads:
    each is lowered to loops, or to linalg, by default.

    All are in destination-passing style: `outs` gives the initial values, and a
    tensor result for each. On memrefs an op writes its `outs` and has no results.
  }];
}

def TMTensor_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
                                "ranked tensor or memref">;

class TMTensor_Op<string mnemonic, list<Trait> traits = []>
    : Op<TMTensorDialect, mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let hasVerifier = 1;
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    ::mlir::ShapedType getInputType(unsigned i) {
      return ::mlir::cast<::mlir::ShapedType>(getInputs()[i].getType());
    }
    ::mlir::ShapedType getOutputType(unsigned i) {
      return ::mlir::cast<::mlir::ShapedType>(getOutputs()[i].getType());
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
}

def TMTensor_ScanOp : TMTensor_Op<"scan", [SingleBlock]> {
  let summary = "every prefix of a dimension, combined";
  let description = [{
    `outs` are the result, of the input's shape, and the accumulator, which
    lacks the dimension `dimension`. Where `inclusive`, the first element is the
    input's, and each other the body's value for the element before it (first
    argument) and the input's element (second). Where not, the first is the
    accumulator's initial value, and each other the body's value for the element
    before it and the input's element before it. The last element is the
    accumulator's final value.

    ```mlir
    %r:2 = tm_tensor.scan dimension(1) inclusive(true)
        ins(%x : tensor<3x5xf32>) outs(%o, %a : tensor<3x5xf32>, tensor<3xf32>) {
    ^bb0(%sum: f32, %in: f32):
      %s = arith.addf %sum, %in : f32
      tm_tensor.yield %s : f32
    } -> tensor<3x5xf32>, tensor<3xf32>
    ```
  }];
  let arguments = (ins Variadic<TMTensor_Shaped>:$inputs,
                       Variadic<TMTensor_Shaped>:$outputs,
                       I64Attr:$dimension, BoolAttr:$inclusive);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    `dimension` `(` $dimension `)` `inclusive` `(` $inclusive `)` attr-dict
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_ScatterOp : TMTensor_Op<"scatter", [SingleBlock]> {
  let summary = "updates at computed places";
  let description = [{
    `ins` are the updates and the indices, `outs` the tensor that is updated.
    Row n of the indices (n x depth) says where slice n of the updates goes: its
    i-th number is the position in dimension `dimension_map[i]`, which counts
    from the end where it is negative. The other positions are those within the
    slice, whose dimensions are the last ones of the updated tensor; where both
    speak of a dimension they add up. The body combines the update (first
    argument) with what is there (second).

    Updates are applied in order, whatever `unique_indices` says. A position
    outside of the tensor is an error at run time.
  }];
  let arguments = (ins Variadic<TMTensor_Shaped>:$inputs,
                       Variadic<TMTensor_Shaped>:$outputs,
                       DenseI64ArrayAttr:$dimension_map,
                       DefaultValuedAttr<BoolAttr, "true">:$unique_indices);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    attr-dict `unique_indices` `(` $unique_indices `)`
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_SortOp : TMTensor_Op<"sort", [SingleBlock]> {
  let summary = "tensors sorted together along a dimension";
  let description = [{
    The body takes two elements of each tensor, the earlier and the later one,
    and says whether they may stay in that order. The sort is stable. One
    comparison of floats is taken as a total order, in which NaN is larger than
    all numbers; an order that contradicts itself gives some permutation on the
    host, and is refused for a GPU.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs,
                       Variadic<TMTensor_Shaped>:$outputs,
                       I64Attr:$dimension);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)`
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_TopkOp : TMTensor_Op<"topk", [SingleBlock]> {
  let summary = "the first k elements of an order, along a dimension";
  let description = [{
    `ins` are the values and, where given, the index of each; without them the
    index is the position. `outs` are the k values and their indices so far, in
    order; each element of `ins` in turn takes its place among them and pushes
    the last one out. The body says whether its first argument goes before its
    second. Of equal elements the one with the smaller index comes first.
  }];
  let arguments = (ins Variadic<TMTensor_Shaped>:$inputs,
                       Variadic<TMTensor_Shaped>:$outputs,
                       I64Attr:$dimension);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)`
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_AttentionOp : TMTensor_Op<"attention"> {
  let summary = "softmax(scale * Q K^T + mask) V";
  let description = [{
    `ins` are Q (b x m x d), K (b x n x d), V (b x n x e) and, where given, a
    mask (b x m x n): floats that are added, or i1 where false shuts out. `outs`
    is b x m x e; its initial values are not used. Without `scale` it is
    1/sqrt(d). A row that is shut out wholly is zero.
  }];
  let arguments = (ins Variadic<TMTensor_Shaped>:$inputs,
                       Variadic<TMTensor_Shaped>:$outputs,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?
  }];
}

def TMTensor_YieldOp
    : Op<TMTensorDialect, "yield", [Pure, ReturnLike, Terminator]> {
  let summary = "ends the body of a tm_tensor op";
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ /* nothing to do */ }]>];
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // FASTK_DIALECT_TMTENSOR_TMTENSOROPS_TD
