// Softmax and norms are one workload each, with what only they read.

// RUN: fastk-opt %golden/softmax_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=SOFTMAX
// RUN: fastk-opt %golden/layernorm_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=LAYERNORM
// RUN: fastk-opt %s --fastk-form-workloads | FileCheck %s

// SOFTMAX: fastk.workload {{.*}}(%arg0) : (tensor<23x157xf32>) -> tensor<23x157xf32>
// SOFTMAX-NOT: fastk.workload
// SOFTMAX: return
// LAYERNORM: fastk.workload {{.*}}(%arg2, %arg0, %arg1) : (tensor<3x5x7x9xf32>, tensor<5x7x9xf32>, tensor<5x7x9xf32>) -> tensor<3x5x7x9xf32>
// LAYERNORM-NOT: fastk.workload
// LAYERNORM: return

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#col = affine_map<(d0, d1) -> (0, d1)>

// The square belongs to the norm, though the matmul with its residual comes
// first: the sum is written once and read by both.
// CHECK-LABEL: func.func @rms_norm_behind_residual
// CHECK: %[[Y:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK:   linalg.matmul
// CHECK:   arith.addf
// CHECK-NOT: arith.mulf
// CHECK:   fastk.yield %{{[^,]*}} :
// CHECK: %[[N:.*]] = fastk.workload {{.*}}(%[[Y]])
// CHECK:   arith.mulf
// CHECK:   math.rsqrt
// CHECK:   arith.mulf
// CHECK: return %[[Y]], %[[N]]
func.func @rms_norm_behind_residual(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %er = tensor.empty() : tensor<8x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %sq = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<8x1xf32>) -> tensor<8x1xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%sq : tensor<8x8xf32>) outs(%fr : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<8x1xf32>) outs(%er : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = math.rsqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %r : tensor<8x8xf32>, tensor<8x1xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %y, %n : tensor<8x8xf32>, tensor<8x8xf32>
}

// The sum and the sum of squares meet: one workload, squares included.
// CHECK-LABEL: func.func @two_sums_meet
// CHECK-NEXT: %[[R:.*]] = fastk.workload {{.*}}(%arg0)
// CHECK-COUNT-2: "reduction"]
// CHECK-NOT: fastk.workload
// CHECK: return %[[R]]
func.func @two_sums_meet(%x: tensor<8x6xf32>) -> tensor<8x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %er = tensor.empty() : tensor<8x1xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<8x1xf32>) -> tensor<8x1xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x6xf32>) outs(%fr : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %sq = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %sums = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%sq : tensor<8x6xf32>) outs(%fr : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %v = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums, %sum : tensor<8x1xf32>, tensor<8x1xf32>) outs(%er : tensor<8x1xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  return %v : tensor<8x1xf32>
}

// Rows and columns are not one loop: two workloads.
// CHECK-LABEL: func.func @rows_then_columns
// CHECK: %[[R:.*]] = fastk.workload {{.*}}(%arg0)
// CHECK: fastk.workload {{.*}}(%[[R]])
func.func @rows_then_columns(%x: tensor<8x6xf32>) -> tensor<1x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %er = tensor.empty() : tensor<8x1xf32>
  %ec = tensor.empty() : tensor<1x6xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<8x1xf32>) -> tensor<8x1xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : tensor<1x6xf32>) -> tensor<1x6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x6xf32>) outs(%fr : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x6xf32>, tensor<8x1xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %c = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]} ins(%n : tensor<8x6xf32>) outs(%fc : tensor<1x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<1x6xf32>
  return %c : tensor<1x6xf32>
}
