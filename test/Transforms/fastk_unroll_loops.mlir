// RUN: fastk-opt --fastk-unroll-loops %s | FileCheck %s

// A recurrence of three steps: slices are at constant places afterwards, and
// what is written row by row is put together at once.
// CHECK-LABEL: @recurrence
// CHECK-NOT: scf.for
// CHECK: tensor.extract_slice %{{.*}}[2, 0] [1, 4] [1, 1]
// CHECK: %[[A:.*]] = linalg.add
// CHECK: tensor.extract_slice %{{.*}}[1, 0]
// CHECK: %[[B:.*]] = linalg.add ins(%{{.*}}, %[[A]]
// CHECK: tensor.extract_slice %{{.*}}[0, 0]
// CHECK: %[[C:.*]] = linalg.add ins(%{{.*}}, %[[B]]
// CHECK-DAG: %[[LAST:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1]]
// CHECK-DAG: %[[MIDDLE:.*]] = tensor.expand_shape %[[B]]
// CHECK-DAG: %[[FIRST:.*]] = tensor.expand_shape %[[C]]
// CHECK-NOT: insert_slice
// CHECK: tensor.concat dim(0) %[[FIRST]], %[[MIDDLE]], %[[LAST]]
// CHECK-NOT: scf.for
func.func @recurrence(%x: tensor<3x4xf32>, %s: tensor<4xf32>) -> tensor<3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x4xf32>
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %e, %h = %s) -> (tensor<3x4xf32>, tensor<4xf32>) {
    %t = arith.subi %c2, %i : index
    %g = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %n = tensor.empty() : tensor<4xf32>
    %a = linalg.add ins(%g, %h : tensor<4xf32>, tensor<4xf32>) outs(%n : tensor<4xf32>) -> tensor<4xf32>
    %w = tensor.insert_slice %a into %o[%t, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
    scf.yield %w, %a : tensor<3x4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<3x4xf32>
}

// A length that a call decides, and a loop without tensors, stay.
// CHECK-LABEL: @others
// CHECK: scf.for
// CHECK: scf.for
func.func @others(%n: index, %s: tensor<4xf32>) -> (tensor<4xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %s) -> (tensor<4xf32>) {
    %a = linalg.exp ins(%h : tensor<4xf32>) outs(%h : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  }
  %k = scf.for %i = %c0 to %c3 step %c1 iter_args(%j = %n) -> (index) {
    %t = arith.muli %j, %i : index
    scf.yield %t : index
  }
  return %r, %k : tensor<4xf32>, index
}
