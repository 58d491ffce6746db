// RUN: fastk-opt --fastk-form-workloads %s | FileCheck %s

// torch-mlir's torch.roll: parts of known size, cast to unknown ones.
// CHECK-LABEL: @roll
// CHECK-NOT: ?
// CHECK: tensor.concat dim(1) {{.*}} : (tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
// CHECK-NOT: ?
func.func @roll(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %tail = tensor.extract_slice %x[0, 3] [2, 5] [1, 1] : tensor<2x8xf32> to tensor<2x5xf32>
  %a = tensor.cast %tail : tensor<2x5xf32> to tensor<2x?xf32>
  %head = tensor.extract_slice %x[0, 0] [2, 3] [1, 1] : tensor<2x8xf32> to tensor<2x3xf32>
  %b = tensor.cast %head : tensor<2x3xf32> to tensor<2x?xf32>
  %0 = tensor.concat dim(1) %a, %b : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.exp ins(%0 : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// A result of unknown size, which readers still see as such.
// CHECK-LABEL: @result
// CHECK: %[[ALL:.*]] = tensor.concat dim(0) {{.*}} -> tensor<4xf32>
// CHECK: tensor.cast %[[ALL]] : tensor<4xf32> to tensor<?xf32>
func.func @result(%x: tensor<2xf32>) -> tensor<?xf32> {
  %a = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %0 = tensor.concat dim(0) %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// A size that is not known stays so.
// CHECK-LABEL: @unknown
// CHECK: tensor.concat dim(0) {{.*}} : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
func.func @unknown(%x: tensor<?xf32>, %y: tensor<2xf32>) -> tensor<?xf32> {
  %a = tensor.cast %y : tensor<2xf32> to tensor<?xf32>
  %0 = tensor.concat dim(0) %x, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
