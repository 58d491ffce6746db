// RUN: fastk-opt %s --fastk-print-analysis -o /dev/null | FileCheck %s
// RUN: fastk-opt %golden/conv2d_relu_maxpool_small.mlir --fastk-print-analysis -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=CONV
// RUN: fastk-opt %s --fastk-print-analysis | FileCheck %s --check-prefix=KEEP
// RUN: not fastk-opt %s --fastk-print-analysis=target=moon -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BAD

// RUN: fastk-opt %golden/mlp_small.mlir --fastk-form-workloads --fastk-print-analysis=target=host -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=HOST

// HOST: name: matmul_bias_gelu
// HOST: floor: {{[0-9.e-]+}} us, {{memory|compute}} bound

// BAD: error: fastk-print-analysis: unknown target 'moon'; use round or host

// The module stays as it is.
// KEEP: func.func @model
// KEEP: fastk.workload "m"

// The frame of formed workloads is not analysed itself.
// CHECK-NOT: func @model
// CHECK: workload "m"
// CHECK-NEXT: name: matmul
// CHECK-NEXT: kind: contraction
// CHECK-NEXT: reduction: 16
// CHECK-NEXT: contraction: batch 1, m 8, n 4, k 16, f32 x f32 -> f32
// CHECK-NEXT: inputs: data weight
// CHECK-NEXT: bytes: 896 (768 read, 128 written)
// CHECK-NEXT: ops: multiply-add 512
// CHECK-NEXT: floor: 0.00896 us, memory bound, 1.143 op/byte
func.func @model(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %r = fastk.workload "m" (%a, %b) : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%x: tensor<8x16xf32>, %y: tensor<16x4xf32>):
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x4xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    %0 = linalg.matmul ins(%x, %y : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
    fastk.yield %0 : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}

// CHECK: func @dynamic
// CHECK-NEXT: not analysed: dynamic shapes
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// CONV: name: conv2d_bias_relu_maxpool
// CONV-NEXT: kind: convolution
// CONV: epilogue: bias, relu, maxpool
// CONV-NEXT: inputs: weight bias data
