// RUN: fastk-opt %s --pass-pipeline='builtin.module(func.func(fastk-derive-condition{tf32=true}))' | FileCheck %s
// RUN: fastk-opt %s --pass-pipeline='builtin.module(func.func(fastk-derive-condition))' | FileCheck %s --check-prefix=IEEE

// Of a sum that relu cuts off, its condition where what kernels may be off by,
// 8 u + 2^-11 times it, reaches 0; else none.
// CHECK-LABEL: func.func @relu
// CHECK-NOT: 4.76837{{.*}}E-7
// CHECK: arith.constant 4.8875{{.*}}E-4
// CHECK-NOT: 4.76837{{.*}}E-7
// IEEE-LABEL: func.func @relu
// IEEE-NOT: 4.8875{{.*}}E-4
// IEEE: arith.constant 4.76837{{.*}}E-7
// IEEE-NOT: 4.8875{{.*}}E-4
func.func @relu(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
