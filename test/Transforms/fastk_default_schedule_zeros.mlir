// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-default-schedule))' | FileCheck %s
// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-default-schedule{skip-zeros=false}))' | FileCheck %s --check-prefix=ALL

// Zeros between the elements: even results meet the taps 0 and 2, odd ones the tap 1.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8xf32>, %[[W:.*]]: tensor<4x3x3xf32>)
// CHECK: tensor.extract_slice %[[W]][0, 0, 0] [4, 3, 2] [1, 1, 2]
// CHECK: tensor.insert_slice {{.*}}[0, 0, 0] [1, 4, 7] [1, 1, 2]
// CHECK: tensor.extract_slice %[[X]][0, 0, 1] [1, 3, 6] [1, 1, 1]
// CHECK: tensor.extract_slice %[[W]][0, 0, 1] [4, 3, 1] [1, 1, 2]
// CHECK: tensor.insert_slice {{.*}}[0, 0, 1] [1, 4, 6] [1, 1, 2]
// ALL-LABEL: func.func @transposed
// ALL: tensor.insert_slice {{.*}} [1, 1, 2]
// ALL-NOT: tensor.extract_slice
func.func @transposed(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x13xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x3x15xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x3x15xf32>) -> tensor<1x3x15xf32>
  %s = tensor.insert_slice %x into %f[0, 0, 0] [1, 3, 8] [1, 1, 2] : tensor<1x3x8xf32> into tensor<1x3x15xf32>
  %r = tensor.empty() : tensor<1x4x13xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<1x4x13xf32>) -> tensor<1x4x13xf32>
  %c = linalg.conv_1d_ncw_fcw ins(%s, %w : tensor<1x3x15xf32>, tensor<4x3x3xf32>) outs(%i : tensor<1x4x13xf32>) -> tensor<1x4x13xf32>
  return %c : tensor<1x4x13xf32>
}

// -----

// What is between the elements is one, not zero.
// CHECK-LABEL: func.func @ones
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @ones(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x13xf32> {
  %z = arith.constant 0.0 : f32
  %o = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x3x15xf32>
  %f = linalg.fill ins(%o : f32) outs(%e : tensor<1x3x15xf32>) -> tensor<1x3x15xf32>
  %s = tensor.insert_slice %x into %f[0, 0, 0] [1, 3, 8] [1, 1, 2] : tensor<1x3x8xf32> into tensor<1x3x15xf32>
  %r = tensor.empty() : tensor<1x4x13xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<1x4x13xf32>) -> tensor<1x4x13xf32>
  %c = linalg.conv_1d_ncw_fcw ins(%s, %w : tensor<1x3x15xf32>, tensor<4x3x3xf32>) outs(%i : tensor<1x4x13xf32>) -> tensor<1x4x13xf32>
  return %c : tensor<1x4x13xf32>
}

// -----

// The window has gaps, or the results are in steps of two: as they are.
// CHECK-LABEL: func.func @gaps
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @gaps(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> (tensor<1x4x11xf32>, tensor<1x4x7xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x3x15xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x3x15xf32>) -> tensor<1x3x15xf32>
  %s = tensor.insert_slice %x into %f[0, 0, 0] [1, 3, 8] [1, 1, 2] : tensor<1x3x8xf32> into tensor<1x3x15xf32>
  %r = tensor.empty() : tensor<1x4x11xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<1x4x11xf32>) -> tensor<1x4x11xf32>
  %c = linalg.conv_1d_ncw_fcw {dilations = dense<2> : vector<1xi64>} ins(%s, %w : tensor<1x3x15xf32>, tensor<4x3x3xf32>) outs(%i : tensor<1x4x11xf32>) -> tensor<1x4x11xf32>
  %r2 = tensor.empty() : tensor<1x4x7xf32>
  %i2 = linalg.fill ins(%z : f32) outs(%r2 : tensor<1x4x7xf32>) -> tensor<1x4x7xf32>
  %c2 = linalg.conv_1d_ncw_fcw {strides = dense<2> : vector<1xi64>} ins(%s, %w : tensor<1x3x15xf32>, tensor<4x3x3xf32>) outs(%i2 : tensor<1x4x7xf32>) -> tensor<1x4x7xf32>
  return %c, %c2 : tensor<1x4x11xf32>, tensor<1x4x7xf32>
}

// -----

#x = affine_map<(o, p, c, k) -> (c, p + k)>
#w = affine_map<(o, p, c, k) -> (o, c, k)>
#y = affine_map<(o, p, c, k) -> (o, p)>
// What is made of a zero is none.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @computed(%x: tensor<3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<4x13xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x15xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x15xf32>) -> tensor<3x15xf32>
  %s = tensor.insert_slice %x into %f[0, 0] [3, 8] [1, 2] : tensor<3x8xf32> into tensor<3x15xf32>
  %r = tensor.empty() : tensor<4x13xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<4x13xf32>) -> tensor<4x13xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%s, %w : tensor<3x15xf32>, tensor<4x3x3xf32>) outs(%i : tensor<4x13xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.exp %a : f32
    %1 = arith.mulf %0, %b : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x13xf32>
  return %c : tensor<4x13xf32>
}

// -----

#x = affine_map<(o, p, c, k) -> (c, p + k)>
#w = affine_map<(o, p, c, k) -> (o, c, k)>
#y = affine_map<(o, p, c, k) -> (o, p)>
// A half that is widened and negated is zero where it was.
// CHECK-LABEL: func.func @widened
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 1] [4, 3, 1] [1, 1, 2]
func.func @widened(%x: tensor<3x8xf16>, %w: tensor<4x3x3xf32>) -> tensor<4x13xf32> {
  %h = arith.constant 0.0 : f16
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x15xf16>
  %f = linalg.fill ins(%h : f16) outs(%e : tensor<3x15xf16>) -> tensor<3x15xf16>
  %s = tensor.insert_slice %x into %f[0, 0] [3, 8] [1, 2] : tensor<3x8xf16> into tensor<3x15xf16>
  %r = tensor.empty() : tensor<4x13xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<4x13xf32>) -> tensor<4x13xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%s, %w : tensor<3x15xf16>, tensor<4x3x3xf32>) outs(%i : tensor<4x13xf32>) {
  ^bb0(%a: f16, %b: f32, %o: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.mulf %1, %b : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x13xf32>
  return %c : tensor<4x13xf32>
}

// -----

// So many parts would be as many kernels.
// CHECK-LABEL: func.func @many
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @many(%x: tensor<1x3x4xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x59xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x3x61xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x3x61xf32>) -> tensor<1x3x61xf32>
  %s = tensor.insert_slice %x into %f[0, 0, 0] [1, 3, 4] [1, 1, 20] : tensor<1x3x4xf32> into tensor<1x3x61xf32>
  %r = tensor.empty() : tensor<1x4x59xf32>
  %i = linalg.fill ins(%z : f32) outs(%r : tensor<1x4x59xf32>) -> tensor<1x4x59xf32>
  %c = linalg.conv_1d_ncw_fcw ins(%s, %w : tensor<1x3x61xf32>, tensor<4x3x3xf32>) outs(%i : tensor<1x4x59xf32>) -> tensor<1x4x59xf32>
  return %c : tensor<1x4x59xf32>
}
