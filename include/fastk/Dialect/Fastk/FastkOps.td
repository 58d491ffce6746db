//===- FastkOps.td - Operations of the fastk dialect --------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_FASTKOPS_TD
#define FASTK_DIALECT_FASTK_FASTKOPS_TD

include "fastk/Dialect/Fastk/FastkDialect.td"
include "fastk/Dialect/Fastk/FastkPlanOps.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Fastk_WorkloadOp : Fastk_Op<"workload", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "a subgraph that is optimised as one";
  let description = [{
    The body is ordinary linalg on tensors, as it stood in the model; it uses
    nothing from outside but its block arguments, which are the operands in
    order. The results are what `fastk.yield` returns.

    `name` says what the body computes ("softmax", "matmul_bias_gelu"). It is
    derived from the structure and only shown to people: matching goes by the
    key of the canonical form and never by the name.

    ```mlir
    %r = fastk.workload "relu" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %0 = linalg.generic ... ins(%a) outs(%e) ...
      fastk.yield %0 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// True when every operand and result is a tensor of static shape. Only such
    /// workloads have winners; all others take the default lowering.
    bool hasStaticShape();
  }];
}

def Fastk_LoweringOp : Fastk_Op<"lowering", [
    IsolatedFromAbove, Symbol, NoTerminator]> {
  let summary = "a kernel for one workload, as a pattern and the program for it";
  let description = [{
    `pattern` is the canonical form of the workload that this lowering replaces;
    `key` is its SHA-256, and the symbol is `@w_` with the key's first 16 hex
    digits. The verifier recomputes the key: a file that was edited into another
    meaning does not load.

    The program is a file beside the lowering (`file`, with the SHA-256 of its
    bytes in `digest`); a reader of the bank puts its text into `source`. `seal`
    is the SHA-256 over key, target, precision, language, workspace, digest and
    plan: what was proved belongs together, and a file in which one of them was edited
    does not load. (It guards against mistakes; whoever forges a seal can forge
    a program as well.)
    `workspace` is the number of scratch bytes that the program is given.
    `plan` holds the launches of a program in one of the languages `cuda`, `gpu`
    and `ptx`: its block takes the operands and the results as memrefs and holds
    plan ops, in order. For the host it is empty, and `workspace` is used instead
    of `fastk.workspace`.
    `record` says how the lowering was found and how fast and exact it was
    measured to be; nothing in it changes what the lowering means.

    The language `default` is the compiler's own lowering of the pattern: it has
    no program.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    StrAttr:$key,
    I64Attr:$format_version,
    StrAttr:$target,
    DefaultValuedAttr<Fastk_Precision, "::fastk::Precision::ieee">:$precision,
    Fastk_Language:$language,
    OptionalAttr<StrAttr>:$file,
    OptionalAttr<StrAttr>:$digest,
    OptionalAttr<StrAttr>:$seal,
    OptionalAttr<StrAttr>:$source,
    DefaultValuedAttr<I64Attr, "0">:$workspace,
    OptionalAttr<DictionaryAttr>:$record);
  let regions = (region SizedRegion<1>:$pattern, AnyRegion:$plan);
  let assemblyFormat = [{
    $sym_name attr-dict-with-keyword `pattern` $pattern (`plan` $plan^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Version of the textual form of this op and of the bank around it. A
    /// reader refuses any other.
    static constexpr int64_t kFormatVersion = 1;
    ::mlir::Block *getPatternBlock() { return &getPattern().front(); }
    /// `w_` and the first 16 hex digits of `key`.
    static std::string symbolForKey(::llvm::StringRef key);
    /// What `seal` must be, from the other attributes as they are.
    std::string computeSeal();
    /// Operand and result types of the workload, in canonical order.
    ::mlir::FunctionType getWorkloadType();
  }];
}

def Fastk_CallOp : Fastk_Op<"call", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a workload replaced by its lowering";
  let description = [{
    Operands and results are those of the lowering's pattern, in its canonical
    order. On tensors the op is a pure function and `inits` is empty; after
    bufferization the operands are memrefs of identity layout, the results have
    become `inits`, and the op writes them all.

    While kernels for a GPU are made, the op also stands for ops that share their
    rows: it names a function on tensors that has them and the attributes
    `fastk.rows` and `fastk.columns`.
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$lowering,
    Variadic<AnyType>:$inputs,
    Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $lowering `(` $inputs `)` (`outs` `(` $inits^ `)`)? attr-dict `:`
    functional-type(operands, $outputs)
  }];
  let hasVerifier = 1;
}

def Fastk_YieldOp : Fastk_Op<"yield", [
    Pure, ReturnLike, Terminator,
    ParentOneOf<["WorkloadOp", "LoweringOp"]>]> {
  let summary = "returns the results of a workload or of a lowering's pattern";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // FASTK_DIALECT_FASTK_FASTKOPS_TD
