//===- LegalizeScalars.td - Scalar ops that have no lowering *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkLegalizeScalarsPass
    : Pass<"fastk-legalize-scalars", "::mlir::func::FuncOp"> {
  let summary = "Replace scalar ops that the back ends lack or get wrong";
  let description = [{
    Rewrites scalar ops of `arith`, `math` and `complex` that MLIR's conversions
    do not know, or whose expansions lose accuracy, into ops that both back ends
    lower well:

    | op | becomes |
    |---|---|
    | `math.fpowi` | products for constant exponents up to 64 (of f64: 4 and -1), in f64 beyond 4; else `math.powf` of the magnitude in f64, with the sign of the exponent's parity |
    | `math.powf` with a constant, whole exponent | as `math.fpowi` by products, where that does so |
    | `math.ipowi` | repeated squaring, without a branch |
    | `math.absi`, `ctlz`, `cttz`, `ctpop` of `index` | the same of i64 |
    | `math.isinf`, `math.isnormal`, `math.clampf` | comparisons |
    | `arith.fptosi`, `fptoui` to i1, `sitofp`, `uitofp` of i1 | the same by way of i32 |
    | `arith.truncf` of f64 to bf16 | through f32, rounded to odd there: one rounding in all |
    | `complex.cos`, `expm1`, `log`, `log1p`, `pow`, `sin`, `tan`, `tanh` | formulas of real functions that cancel nothing |
    | `complex.powi` with a constant exponent of 1 to 64 | products |

    Ops on vectors and tensors are left alone: the pass runs before a schedule
    makes vectors.

    ```mlir
    // fastk-opt --fastk-legalize-scalars
    func.func @square(%x: f32) -> f32 {
      %two = arith.constant 2 : i32
      %0 = math.fpowi %x, %two : f32, i32
      return %0 : f32
    }
    ```
    becomes
    ```mlir
    func.func @square(%arg0: f32) -> f32 {
      %c2_i32 = arith.constant 2 : i32
      %0 = arith.mulf %arg0, %arg0 : f32
      return %0 : f32
    }
    ```
  }];
  let options = [
    Option<"isOracle", "oracle", "bool", "false",
           "for oracles and conditions: powers come from `math.powf` whatever "
           "the exponent">,
    Option<"hasComplexLibm", "has-complex-libm", "bool", "false",
           "keep the complex functions that C's library has; they are called">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::math::MathDialect"];
}
