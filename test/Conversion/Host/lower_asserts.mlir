// RUN: fastk-opt %s --fastk-lower-asserts | FileCheck %s

// Number 1 is always that memory was not there; a text has one number.
// CHECK: module attributes {fastk.errors = ["out of memory{{.*}}", "first", "second"]}
// CHECK-LABEL: func.func @check(
// CHECK-SAME: -> i32
// CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT: cf.cond_br %{{.*}}, ^[[GOOD:.*]], ^[[EXIT:.*]](%[[TWO]] : i32)
// CHECK: %[[THREE:.*]] = llvm.mlir.constant(3 : i32)
// CHECK-NEXT: cf.cond_br %{{.*}}, ^{{.*}}, ^[[EXIT]](%[[THREE]] : i32)
// CHECK: ^[[EXIT]](%[[CODE:.*]]: i32):
// CHECK: return %[[CODE]] : i32
func.func @check(%a: i1, %b: i1) {
  cf.assert %a, "first"
  cf.assert %b, "second"
  return
}

// CHECK-LABEL: func.func @again(
// CHECK: llvm.mlir.constant(2 : i32)
func.func @again(%a: i1) {
  cf.assert %a, "first"
  return
}

// Without checks a function returns 0 all the same.
// CHECK-LABEL: func.func @none() -> i32
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: return
func.func @none() {
  return
}
