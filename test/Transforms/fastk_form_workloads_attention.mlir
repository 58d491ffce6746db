// Attention is the only workload with two contractions, and only with a softmax
// between them.

// RUN: fastk-opt %golden/attention_causal_f16_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=CAUSAL
// RUN: fastk-opt %golden/attention_f16_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=FULL
// RUN: fastk-opt %s --fastk-form-workloads | FileCheck %s

// The mask is made inside: positions are no operand.
// CAUSAL: fastk.workload {{.*}}(%arg0, %arg1, %arg2) : (tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>) -> tensor<2x3x40x24xf16>
// CAUSAL: linalg.batch_matmul
// CAUSAL: linalg.index 0
// CAUSAL: arith.cmpi sle
// CAUSAL: math.exp
// CAUSAL: linalg.batch_matmul
// CAUSAL: arith.truncf %{{.*}} : f32 to f16
// CAUSAL-NOT: fastk.workload
// CAUSAL: return

// FULL: fastk.workload {{.*}} -> tensor<2x3x40x24xf16>
// FULL-NOT: fastk.workload
// FULL: return

#d3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>

// The scores are returned too: one more result, still one workload. The scaling
// of the queries, which only the attention reads, is inside.
// CHECK-LABEL: func.func @scores_returned
// CHECK-NEXT: %[[R:.*]]:2 = fastk.workload {{.*}}(%arg0, %arg1, %arg2)
// CHECK-COUNT-2: linalg.batch_matmul
// CHECK: fastk.yield %{{.*}}, %{{.*}} : tensor<2x8x8xf32>, tensor<2x8x4xf32>
// CHECK-NOT: fastk.workload
// CHECK: return %[[R]]#1, %[[R]]#0
func.func @scores_returned(%q: tensor<2x8x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x8x8xf32>
  %er = tensor.empty() : tensor<2x8xf32>
  %eo = tensor.empty() : tensor<2x8x4xf32>
  %scaled = linalg.generic {indexing_maps = [#d3, #d3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<2x8x4xf32>) outs(%eo : tensor<2x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %half : f32
    linalg.yield %m : f32
  } -> tensor<2x8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %s = linalg.batch_matmul ins(%scaled, %k : tensor<2x8x4xf32>, tensor<2x4x8xf32>) outs(%f : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<2x8xf32>) -> tensor<2x8xf32>
  %max = linalg.generic {indexing_maps = [#d3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<2x8x8xf32>) outs(%fm : tensor<2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  %p = linalg.generic {indexing_maps = [#d3, #row, #d3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : tensor<2x8x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %mx: f32, %out: f32):
    %d = arith.subf %in, %mx : f32
    %x = math.exp %d : f32
    linalg.yield %x : f32
  } -> tensor<2x8x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%er : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.generic {indexing_maps = [#d3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p : tensor<2x8x8xf32>) outs(%fs : tensor<2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  %n = linalg.generic {indexing_maps = [#d3, #row, #d3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %sum : tensor<2x8x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %sm: f32, %out: f32):
    %d = arith.divf %in, %sm : f32
    linalg.yield %d : f32
  } -> tensor<2x8x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>) outs(%fo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %s : tensor<2x8x4xf32>, tensor<2x8x8xf32>
}

// No softmax between the contractions: the rows are divided by their sum only.
// CHECK-LABEL: func.func @no_softmax
// CHECK: linalg.batch_matmul
// CHECK: %[[N:.*]] = fastk.workload
// CHECK: "reduction"
// CHECK: arith.divf
// CHECK: fastk.workload {{.*}}(%[[N]], %arg2)
// CHECK: linalg.batch_matmul
func.func @no_softmax(%q: tensor<2x8x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x8xf32>
  %er = tensor.empty() : tensor<2x8xf32>
  %eo = tensor.empty() : tensor<2x8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x8xf32>) outs(%f : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%er : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.generic {indexing_maps = [#d3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<2x8x8xf32>) outs(%fs : tensor<2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<2x8xf32>
  %n = linalg.generic {indexing_maps = [#d3, #row, #d3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %sum : tensor<2x8x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %sm: f32, %out: f32):
    %d = arith.divf %in, %sm : f32
    linalg.yield %d : f32
  } -> tensor<2x8x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>) outs(%fo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}
