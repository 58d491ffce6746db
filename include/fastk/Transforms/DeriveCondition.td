//===- DeriveCondition.td - The pass that bounds errors -*- tablegen -*----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkDeriveConditionPass
    : Pass<"fastk-derive-condition", "::mlir::func::FuncOp"> {
  let summary = "Compute the condition of every result element in place of its value";
  let description = [{
    Makes, of the function that defines a workload, one that returns for each
    element of a float result how far rounding may move it: its *condition* k,
    in f64, such that `8 u k` bounds the error of a right kernel whose
    arithmetic has unit round-off u (docs/validation.md). Results that are
    integers are returned as they are.

    This is a running error analysis of first order. Each operation adds its own
    rounding to what it passes on of its operands':

    | operation | condition of its result r |
    |---|---|
    | operand, constant, conversion to a wider type, comparison of operands | 0: exact |
    | `a + b`, `a - b` | ka + kb + \|r\| |
    | `a * b` | \|a\| kb + \|b\| ka + 2 \|r\| |
    | `a / b` | (ka + \|r\| kb) / \|b\| + 2 \|r\| |
    | `-a`, `\|a\|` | ka |
    | `max`, `min`, `select` | that of what is taken; the larger where rounding may decide otherwise |
    | `exp(a)` | r (ka + \|a\| + 2) |
    | other functions f | \|f'\| ka + w \|r\|, w from 2 to 4 |
    | sum of n terms t that are not 0 | sum kt, and (1 + sqrt(n) / 4) sum \|t\| where n > 1 |
    | product of factors t | \|r / t\| kt + 2 \|r\|, over all t |
    | a value kept in f16 or bf16, f64 cut to f32 | ka + 1.1 \|r\| u' / (8 u), u' the round-off of that type |

    Where an exact operand enters arithmetic, k is its magnitude: a kernel may
    split it into parts that keep 21 bits. What is only moved, compared or
    selected stays exact. The slope f' is the largest within the reach of ka, and
    k is infinite where a pole is in it, or an exponential above 16 may overflow;
    the largest of many terms has the
    largest condition of those that rounding may bring to the top.

    Example, of which the body of the second op is left:

    ```mlir
    func.func @exp(%x: tensor<8xf32>) -> tensor<8xf32>
    // becomes
    func.func @exp(%x: tensor<8xf32>) -> tensor<8xf64>
      ^bb0(%in: f64, %out: f64):
        %r = math.exp %in : f64
        %k = ... : f64  // r (2 |x| + 2)
        linalg.yield %k : f64
    ```

    An op without a rule is an error that names it.

    ```mlir
    // fastk-opt --fastk-derive-condition
    func.func @exp(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "for kernels whose operations may lose what operands of 10 bits "
           "lose: (8 u + 2^-11) k bounds their errors, and so far an "
           "intermediate may be off where a step or a slope decides">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
