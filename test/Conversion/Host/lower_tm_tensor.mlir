// RUN: fastk-opt %s --fastk-lower-tm-tensor | FileCheck %s

// A row of unknown length takes one of two ways, which share nothing but what is made before both.
// CHECK-LABEL: func.func @scan
// CHECK: memref.dim
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[SHORT:.*]] = arith.cmpi slt
// CHECK: scf.if %[[SHORT]]
// CHECK: } else {
// CHECK: scf.parallel {{.*}} = (%[[ZERO]])
// CHECK: scf.parallel {{.*}} = (%[[ZERO]])
func.func @scan(%x: memref<?xi64>, %y: memref<?xi64>, %last: memref<i64>) {
  tm_tensor.scan dimension(0) inclusive(true) ins(%x : memref<?xi64>) outs(%y, %last : memref<?xi64>, memref<i64>) {
  ^bb0(%a: i64, %b: i64):
    %0 = arith.addi %a, %b : i64
    tm_tensor.yield %0 : i64
  }
  return
}
