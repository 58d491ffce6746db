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

// -----

// Bytes beside the module stay what they are, and are extended where they are
// named: an integer's are none of its business.
// CHECK-LABEL: func.func @resources
func.func @resources(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<1xcomplex<f32>>) {
  // CHECK-DAG: %[[W:.*]] = arith.constant dense_resource<weights> : tensor<2xf32>
  // CHECK-DAG: %[[I:.*]] = arith.constant dense_resource<indices> : tensor<2xi64>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<(1.000000e+00,2.000000e+00)> : tensor<1xcomplex<f32>>
  // CHECK-DAG: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<2xf32>) outs(%{{.*}} : tensor<2xf64>)
  // CHECK-DAG: %[[D:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<1xcomplex<f32>>) outs(%{{.*}} : tensor<1xcomplex<f64>>)
  %w = arith.constant dense_resource<weights> : tensor<2xf32>
  %i = arith.constant dense_resource<indices> : tensor<2xi64>
  %c = arith.constant dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
  %e = tensor.empty() : tensor<2xf32>
  // CHECK: %[[S:.*]] = linalg.add ins(%{{.*}}, %[[WIDE]] : tensor<2xf64>, tensor<2xf64>)
  // CHECK: return %[[S]], %[[I]], %[[D]] : tensor<2xf64>, tensor<2xi64>, tensor<1xcomplex<f64>>
  %s = linalg.add ins(%x, %w : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %s, %i, %c : tensor<2xf32>, tensor<2xi64>, tensor<1xcomplex<f32>>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040",
      indices: "0x0800000001000000000000000200000000000000"
    }
  }
#-}
