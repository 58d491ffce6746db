// A convolution takes along its padding, bias, batch norm, activation, residual,
// and the pooling that alone reads it.

// RUN: fastk-opt %golden/conv2d_relu_maxpool_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=POOL
// RUN: fastk-opt %golden/resnet_block_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=RESNET
// RUN: fastk-opt %s --fastk-form-workloads | FileCheck %s

// POOL: func.func
// POOL-NEXT: %[[R:.*]] = fastk.workload {{.*}}(%arg2, %arg0, %arg1)
// POOL: tensor.pad
// POOL: linalg.broadcast
// POOL: linalg.conv_2d_nchw_fchw
// POOL: linalg.pooling_nchw_max
// POOL-NOT: fastk.workload
// POOL: return %[[R]]

// RESNET: func.func
// RESNET-NEXT: %[[C1:.*]] = fastk.workload
// RESNET: tensor.pad
// RESNET: linalg.conv_2d_nchw_fchw
// RESNET: math.rsqrt
// RESNET: arith.select
// RESNET: fastk.yield %{{[^,]*}} :
// RESNET: %[[C2:.*]] = fastk.workload {{.*}}(%[[C1]], {{.*}}%arg12
// RESNET: tensor.pad
// RESNET: linalg.conv_2d_nchw_fchw
// RESNET: math.rsqrt
// RESNET: arith.select
// RESNET: fastk.yield
// RESNET-NEXT: }
// RESNET-NEXT: return %[[C2]]

// What else reads the convolution keeps the pooling apart.
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[C:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK:   linalg.conv_2d_nchw_fchw
// CHECK-NOT: pooling
// CHECK:   fastk.yield
// CHECK: %[[P:.*]] = fastk.workload {{.*}}(%[[C]])
// CHECK:   linalg.pooling_nchw_max
// CHECK: return %[[C]], %[[P]]
func.func @read_twice(%x: tensor<1x2x6x6xf32>, %w: tensor<3x2x3x3xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x3x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>) outs(%f : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %ep = tensor.empty() : tensor<1x3x2x2xf32>
  %fp = linalg.fill ins(%low : f32) outs(%ep : tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %p = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%c, %window : tensor<1x3x4x4xf32>, tensor<2x2xf32>) outs(%fp : tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  return %c, %p : tensor<1x3x4x4xf32>, tensor<1x3x2x2xf32>
}
