// A matmul takes along its weight's transpose, its bias and what follows.

// RUN: fastk-opt %golden/linear_gelu_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=GELU
// RUN: fastk-opt %golden/mlp_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=MLP
// RUN: fastk-opt %golden/matmul_f16_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=HALF
// RUN: fastk-opt %s --fastk-form-workloads | FileCheck %s

// GELU: func.func
// GELU-NEXT: %[[R:.*]] = fastk.workload {{.*}}(%arg2, %arg0, %arg1) : (tensor<20x24xf32>, tensor<52x24xf32>, tensor<52xf32>) -> tensor<20x52xf32>
// GELU: linalg.transpose
// GELU: linalg.matmul
// GELU: math.erf
// GELU-NOT: fastk.workload
// GELU: return %[[R]]

// MLP: func.func
// MLP-NEXT: %[[H:.*]] = fastk.workload {{.*}}(%arg4, %arg0, %arg1)
// MLP: math.erf
// MLP: %[[R:.*]] = fastk.workload {{.*}}(%[[H]], %arg2, %arg3)
// MLP: linalg.transpose
// MLP: return %[[R]]

// The accumulator never leaves the workload.
// HALF: fastk.workload {{.*}} -> tensor<48x56xf16>

#id = affine_map<(d0, d1) -> (d0, d1)>

// One transposed weight, two matmuls: each has its own copy, so that both are
// the same workload.
// CHECK-LABEL: func.func @tied_weight
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK:   linalg.transpose
// CHECK:   linalg.matmul
// CHECK: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %arg1)
// CHECK:   linalg.transpose
// CHECK:   linalg.matmul
// CHECK: return %[[B]]
func.func @tied_weight(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %et = tensor.empty() : tensor<8x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%et : tensor<8x8xf32>) permutation = [1, 0]
  %a = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.matmul ins(%a, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// The transpose is returned too: a workload of its own, the matmul keeps its copy.
// CHECK-LABEL: func.func @transpose_returned
// CHECK-DAG: %[[T:.*]] = fastk.workload {{.*}}(%arg1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-DAG: %[[A:.*]] = fastk.workload {{.*}}(%arg0, %{{.*}}) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK: return %[[A]], %[[T]]
func.func @transpose_returned(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %et = tensor.empty() : tensor<8x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%et : tensor<8x8xf32>) permutation = [1, 0]
  %a = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a, %t : tensor<4x8xf32>, tensor<8x8xf32>
}

// SiLU on the gate, product with the other branch: the product ends the later
// matmul, and takes the gate as an operand.
// CHECK-LABEL: func.func @gated
// CHECK: %[[G:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK:   linalg.matmul
// CHECK:   math.exp
// CHECK: %[[R:.*]] = fastk.workload {{.*}}(%arg0, %arg2, %[[G]])
// CHECK:   linalg.matmul
// CHECK:   arith.mulf
// CHECK: return %[[R]]
func.func @gated(%x: tensor<4x8xf32>, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    %x0 = math.exp %n : f32
    %d = arith.addf %x0, %one : f32
    %q = arith.divf %in, %d : f32
    linalg.yield %q : f32
  } -> tensor<4x8xf32>
  %u = linalg.matmul ins(%x, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %u : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %m = arith.mulf %l, %r : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}
