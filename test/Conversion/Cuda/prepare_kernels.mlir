// What kernels are made of: memrefs, structured ops, groups of rows.
// RUN: fastk-opt %s --split-input-file --fastk-prepare-kernels | FileCheck %s

// Ops over the same rows are a function on tensors, and one call.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: memref<64x128xf32>, %[[Y:.*]]: memref<64x128xf32>)
// CHECK-SAME: fastk.inputs = 1 : i64
// CHECK-NEXT: fastk.call @rows_rows0(%[[X]]) outs(%[[Y]])
// CHECK-NEXT: return
// CHECK: func.func private @rows_rows0(%{{.*}}: tensor<64x128xf32>) -> tensor<64x128xf32>
// CHECK-SAME: attributes {fastk.columns = 128 : i64, fastk.rows = 64 : i64}
// CHECK-COUNT-3: linalg.generic
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @rows(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64xf32>
  %e2 = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.reduce ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %1 = arith.addf %a, %b : f32
      linalg.yield %1 : f32
    }
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// -----

// Elementwise ops are one; numbers for kernels stay where they are.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: fastk.vector_threads = 64
// CHECK-COUNT-1: linalg.generic
// CHECK: math.exp
// CHECK-NEXT: arith.negf
// CHECK-NOT: linalg.generic
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fastk.vector_threads = 64 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.negf ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
