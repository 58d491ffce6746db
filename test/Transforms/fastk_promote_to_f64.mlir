// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-promote-to-f64))' | FileCheck %s

// Arguments keep their type and are extended on entry; conversions vanish; the
// result stays f64.
// CHECK-LABEL: func.func @conversions
// CHECK-SAME: (%[[ARG:.*]]: tensor<4xf16>) -> tensor<4xf64>
func.func @conversions(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[ARG]] : tensor<4xf16>) outs(%{{.*}} : tensor<4xf64>)
  // CHECK: arith.extf %{{.*}} : f16 to f64
  // CHECK: linalg.generic {{.*}} ins(%[[WIDE]] : tensor<4xf64>)
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: f64, %{{.*}}: f64):
  // CHECK-NEXT: %[[EXP:.*]] = math.exp %[[IN]] : f64
  // CHECK-NEXT: linalg.yield %[[EXP]] : f64
  %e = tensor.empty() : tensor<4xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf16>) outs(%e : tensor<4xf16>) {
  ^bb0(%a: f16, %o: f16):
    %0 = arith.extf %a : f16 to f32
    %1 = math.exp %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

// A constant keeps the value it has: an f64 that the model rounds to f32 is not
// rounded, and a dense one is converted element by element.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: f32) -> (f32, tensor<2xf32>) {
  // CHECK-DAG: arith.constant 1.000000e-05 : f64
  // CHECK-DAG: arith.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf64>
  // CHECK-NOT: truncf
  %c = arith.constant 1.0e-5 : f64
  %d = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = arith.truncf %c : f64 to f32
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f64
  %1 = arith.addf %x, %0 : f32
  return %1, %d : f32, tensor<2xf32>
}

// -----

// Integers are none of its business.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: (%[[X:.*]]: tensor<4xi64>, %[[Y:.*]]: i32) -> (tensor<4xi64>, f64)
func.func @integers(%x: tensor<4xi64>, %y: i32) -> (tensor<4xi64>, f32) {
  // CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[Y]] : i32 to f64
  // CHECK-NEXT: return %[[X]], %[[F]] : tensor<4xi64>, f64
  %0 = arith.sitofp %y : i32 to f32
  return %x, %0 : tensor<4xi64>, f32
}
