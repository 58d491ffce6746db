// Calls of winners become their patterns, and nothing is left of the winners.
// RUN: fastk-opt %s --fastk-form-workloads --fastk-lower-workloads -o %t.mlir
// RUN: FileCheck %s --check-prefix=CALLED --input-file=%t.mlir
// RUN: fastk-opt %t.mlir --fastk-inline-lowerings | FileCheck %s
// One lowering for both: what it is called with is put in its place.
// CALLED-COUNT-2: fastk.call @[[LOWERING:w_[0-9a-f]+]]
// CALLED-COUNT-1: fastk.lowering @
// CALLED-NOT: fastk.lowering @

// What is given back forms the same workloads.
// RUN: fastk-opt %t.mlir --fastk-inline-lowerings --fastk-form-workloads --fastk-lower-workloads | FileCheck %s --check-prefix=CALLED

// A branch is a place like any other.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[P:.*]]: i1, %[[X:.*]]: tensor<8xf32>)
// CHECK-NOT: fastk
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8xf32>)
// CHECK: math.exp
// CHECK: scf.if %[[P]]
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8xf32>)
// CHECK: math.exp
// CHECK: scf.yield %[[B]]
// CHECK-NOT: fastk
func.func @forward(%p: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %b = scf.if %p -> (tensor<8xf32>) {
    %f = tensor.empty() : tensor<8xf32>
    %c = linalg.exp ins(%a : tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  } else {
    scf.yield %a : tensor<8xf32>
  }
  return %b : tensor<8xf32>
}
