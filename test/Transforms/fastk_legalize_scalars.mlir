// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-legalize-scalars))' | FileCheck %s
// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-legalize-scalars{oracle=true has-complex-libm=true}))' | FileCheck %s --check-prefix=ORACLE

// torch's x**2 and x**3: the exponent is i64.
// CHECK-LABEL: func.func @cube
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: %[[CUBE:.*]] = arith.mulf %[[X]], %[[SQUARE]]
// CHECK: return %[[CUBE]]
// The oracle's power is the library's, not these products.
// ORACLE-LABEL: func.func @cube
// ORACLE-NOT: fpowi
// ORACLE: math.powf {{.*}} : f64
func.func @cube(%x: f32) -> f32 {
  %three = arith.constant 3 : i64
  %0 = math.fpowi %x, %three : f32, i64
  return %0 : f32
}

// -----

// Halves are multiplied in f32, and rounded once.
// CHECK-LABEL: func.func @square_of_half
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @square_of_half(%x: f16) -> f16 {
  %two = arith.constant 2 : i64
  %0 = math.fpowi %x, %two : f16, i64
  return %0 : f16
}

// -----

// CHECK-LABEL: func.func @reciprocal
// CHECK: %[[ONE:.*]] = arith.constant 1.0
// CHECK: arith.divf %[[ONE]], %{{.*}} : f32
func.func @reciprocal(%x: f32) -> f32 {
  %n = arith.constant -1 : i8
  %0 = math.fpowi %x, %n : f32, i8
  return %0 : f32
}

// -----

// The square of torch.norm, whose exponent is a float.
// CHECK-LABEL: func.func @square_of_norm
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK-NOT: math.powf
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK: return %[[SQUARE]]
// ORACLE-LABEL: func.func @square_of_norm
// ORACLE: math.powf
func.func @square_of_norm(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %0 = math.powf %x, %two : f32
  return %0 : f32
}

// -----

// Few products in the type, or of more in f64, which are rounded once.
// CHECK-LABEL: func.func @whole_exponents
// CHECK-SAME: (%[[X:[^:]*]]: f32, %[[H:[^:]*]]: bf16)
// CHECK: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[X]] : f32
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK-COUNT-6: arith.mulf {{.*}} : f64
// CHECK: %[[POWER:.*]] = arith.truncf {{.*}} : f64 to f32
// CHECK: arith.extf %[[H]] : bf16 to f32
// CHECK: arith.mulf {{.*}} : f32
// CHECK: %[[SQUARE:.*]] = {{.*}} to bf16
// CHECK: return %[[ONE]], %[[INVERSE]], %[[POWER]], %[[SQUARE]]
func.func @whole_exponents(%x: f32, %h: bf16) -> (f32, f32, f32, bf16) {
  %zero = arith.constant -0.0 : f32
  %minus = arith.constant -1.0 : f32
  %most = arith.constant 64.0 : f32
  %two = arith.constant 2.0 : bf16
  %0 = math.powf %x, %zero : f32
  %1 = math.powf %x, %minus : f32
  %2 = math.powf %x, %most : f32
  %3 = math.powf %h, %two : bf16
  return %0, %1, %2, %3 : f32, f32, f32, bf16
}

// -----

// f64 has nothing wider.
// CHECK-LABEL: func.func @of_f64
// CHECK-COUNT-2: arith.mulf {{.*}} : f64
// CHECK-COUNT-2: math.powf
func.func @of_f64(%x: f64) -> (f64, f64, f64) {
  %four = arith.constant 4.0 : f64
  %five = arith.constant 5.0 : f64
  %minus = arith.constant -2.0 : f64
  %0 = math.powf %x, %four : f64
  %1 = math.powf %x, %five : f64
  %2 = math.powf %x, %minus : f64
  return %0, %1, %2 : f64, f64, f64
}

// -----

// CHECK-LABEL: func.func @other_exponents
// CHECK-COUNT-6: math.powf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @other_exponents(%x: f32, %y: f32, %q: f128)
    -> (f32, f32, f32, f32, f32, f128) {
  %half = arith.constant 0.5 : f32
  %huge = arith.constant 3.0e38 : f32
  %many = arith.constant 65.0 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %two = arith.constant 2.0 : f128
  %0 = math.powf %x, %half : f32
  %1 = math.powf %x, %huge : f32
  %2 = math.powf %x, %many : f32
  %3 = math.powf %x, %nan : f32
  %4 = math.powf %x, %y : f32
  %5 = math.powf %q, %two : f128
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f32, f128
}

// -----

// Odd exponents keep the sign, whatever the exponent becomes in f64.
// CHECK-LABEL: func.func @variable
// CHECK-SAME: (%[[X:.*]]: f32, %[[N:.*]]: i64)
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK: %[[SIZE:.*]] = math.absf %[[WIDE]]
// CHECK: %[[EXPONENT:.*]] = arith.sitofp %[[N]] : i64 to f64
// CHECK: %[[POWER:.*]] = math.powf %[[SIZE]], %[[EXPONENT]] : f64
// CHECK: arith.andi %[[N]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[POWER]]
// CHECK: arith.select %{{.*}}, %[[MINUS]], %[[POWER]]
// CHECK: arith.truncf {{.*}} : f64 to f32
func.func @variable(%x: f32, %n: i64) -> f32 {
  %0 = math.fpowi %x, %n : f32, i64
  return %0 : f32
}

// -----

// CHECK-LABEL: func.func @integer_power
// CHECK-NOT: math.ipowi
// CHECK-COUNT-15: arith.muli
// CHECK-NOT: arith.muli
func.func @integer_power(%x: i8, %n: i8) -> i8 {
  %0 = math.ipowi %x, %n : i8
  return %0 : i8
}

// -----

// CHECK-LABEL: func.func @tests
// CHECK: arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
// CHECK: arith.cmpf oge
// CHECK: arith.cmpf ole
// CHECK: arith.cmpf olt
// CHECK: arith.cmpf olt
// CHECK-NOT: math.is
func.func @tests(%x: f32, %low: f32, %high: f32) -> (i1, i1, f32) {
  %0 = math.isinf %x : f32
  %1 = math.isnormal %x : f32
  %2 = math.clampf %x to [%low, %high] : f32
  return %0, %1, %2 : i1, i1, f32
}

// -----

// One rounding, though no machine converts f64 to bf16: odd in f32.
// CHECK-LABEL: func.func @to_bf16
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.ori
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @to_bf16(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}

// -----

// CHECK-LABEL: func.func @complex_functions
// CHECK-NOT: complex.{{(sin|log|tanh)}}
// CHECK-DAG: math.sinh
// CHECK-DAG: math.log1p
// CHECK-DAG: math.atan2
// CHECK: return
// The oracle of the host calls C's.
// ORACLE-LABEL: func.func @complex_functions
// ORACLE: complex.sin
// ORACLE: complex.log
// ORACLE-NOT: complex.expm1
func.func @complex_functions(%z: complex<f32>) -> (complex<f32>, complex<f32>, complex<f32>) {
  %0 = complex.sin %z : complex<f32>
  %1 = complex.log %z : complex<f32>
  %2 = complex.expm1 %z : complex<f32>
  return %0, %1, %2 : complex<f32>, complex<f32>, complex<f32>
}

// -----

// What both back ends know stays, and vectors are left alone.
// CHECK-LABEL: func.func @others
// CHECK: math.sin
// CHECK: complex.abs
// CHECK: math.fpowi {{.*}} : vector<4xf32>
func.func @others(%x: f32, %z: complex<f32>, %v: vector<4xf32>, %n: vector<4xi32>) -> (f32, f32, vector<4xf32>) {
  %0 = math.sin %x : f32
  %1 = complex.abs %z : complex<f32>
  %2 = math.fpowi %v, %n : vector<4xf32>, vector<4xi32>
  return %0, %1, %2 : f32, f32, vector<4xf32>
}

// -----

// Powers of f32 beyond 4 are multiplied in f64, and rounded once.
// CHECK-LABEL: func.func @tenth_power
// CHECK-COUNT-4: arith.mulf {{.*}} : f64
// CHECK-NEXT: arith.truncf {{.*}} : f64 to f32
func.func @tenth_power(%x: f32) -> f32 {
  %n = arith.constant 10 : i64
  %0 = math.fpowi %x, %n : f32, i64
  return %0 : f32
}

// -----

// Indices are computed on as integers.
// CHECK-LABEL: func.func @indices
// CHECK: arith.index_cast %{{.*}} : index to i64
// CHECK: math.ctpop %{{.*}} : i64
// CHECK: arith.index_cast %{{.*}} : i64 to index
// CHECK: arith.sitofp %{{.*}} : i64 to f64
func.func @indices(%x: f32, %n: index) -> (index, f32, index) {
  %0 = math.ctpop %n : index
  %1 = math.fpowi %x, %n : f32, index
  %2 = math.ipowi %n, %n : index
  return %0, %1, %2 : index, f32, index
}

// -----

// Another way of rounding is left alone.
// CHECK-LABEL: func.func @toward_zero
// CHECK: arith.truncf %{{.*}} toward_zero : f64 to bf16
func.func @toward_zero(%x: f64) -> bf16 {
  %0 = arith.truncf %x toward_zero : f64 to bf16
  return %0 : bf16
}

// -----

// By way of i32: NVPTX takes 0.0 for true, and loses the sign of i1 in bf16.
// CHECK-LABEL: func.func @to_bool
// CHECK: %[[WIDE:.*]] = arith.fptosi %{{.*}} : f32 to i32
// CHECK: arith.trunci %[[WIDE]] : i32 to i1
func.func @to_bool(%x: f32) -> i1 {
  %0 = arith.fptoui %x : f32 to i1
  return %0 : i1
}

// -----

// Not by way of i32: LLVM would fold that back.
// CHECK-LABEL: func.func @from_bool
// CHECK-SAME: %[[BIT:.*]]: i1
// CHECK: %[[MINUS:.*]] = arith.constant -1.0{{.*}} : bf16
// CHECK: arith.select %[[BIT]], %[[MINUS]], %{{.*}} : bf16
// CHECK: %[[PLUS:.*]] = arith.constant 1.0{{.*}} : bf16
// CHECK: arith.select %[[BIT]], %[[PLUS]], %{{.*}} : bf16
func.func @from_bool(%x: i1) -> (bf16, bf16) {
  %0 = arith.sitofp %x : i1 to bf16
  %1 = arith.uitofp %x : i1 to bf16
  return %0, %1 : bf16, bf16
}

// -----

// CHECK-LABEL: func.func @complex_inverse
// CHECK-NOT: complex.powi
// CHECK: complex.div
func.func @complex_inverse(%x: complex<f32>) -> complex<f32> {
  %n = arith.constant -2 : i32
  %0 = complex.powi %x, %n : complex<f32>, i32
  return %0 : complex<f32>
}

// -----

// CHECK-LABEL: func.func @complex_cube
// CHECK-NOT: complex.powi
// CHECK-COUNT-8: arith.mulf
// CHECK-NOT: arith.mulf
func.func @complex_cube(%x: complex<f32>) -> complex<f32> {
  %three = arith.constant 3 : i32
  %0 = complex.powi %x, %three : complex<f32>, i32
  return %0 : complex<f32>
}

// -----

// An exponent that is known at run time only: a power of complex numbers, which
// C's library has.
// CHECK-LABEL: func.func @complex_power
// CHECK-NOT: complex.pow
// CHECK: return
// ORACLE-LABEL: func.func @complex_power
// ORACLE: complex.pow %
func.func @complex_power(%x: complex<f32>, %n: i32) -> complex<f32> {
  %0 = complex.powi %x, %n : complex<f32>, i32
  return %0 : complex<f32>
}
