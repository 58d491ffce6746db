// A product that one pass makes writes its result: the zeros that it would begin with are
// not written and read again.
// RUN: fastk-opt %s --fastk-linalg-to-loops | FileCheck %s
// RUN: fastk-opt %s --pass-pipeline='builtin.module(fastk-linalg-to-loops{relaxed=false})' | FileCheck %s --check-prefix=EXACT
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-run %S/Inputs/short_products.mlir --bank=%t --entry=whole --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %S/Inputs/short_products.mlir --bank=%t --entry=edges --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %S/Inputs/short_products.mlir --bank=%t --entry=batches --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok

// The fill would be the only store of a scalar that is a constant.
// EXACT-LABEL: func.func @one_pass
// EXACT: memref.store %cst{{.*}} memref<64x64xf32>

// CHECK-LABEL: func.func @one_pass
// CHECK-NOT: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @two_passes
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @not_zero
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @read_between
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @too_small
// CHECK: memref.store %cst{{.*}} memref<2x64xf32>
func.func @one_pass(%a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
func.func @two_passes(%a: memref<64x480xf32>, %b: memref<480x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x480xf32>, memref<480x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
func.func @not_zero(%a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
func.func @read_between(%a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>, %d: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  memref.copy %c, %d : memref<64x64xf32> to memref<64x64xf32>
  linalg.matmul ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
// No packed contraction: plain loops, which add to what is there.
func.func @too_small(%a: memref<2x48xf32>, %b: memref<48x64xf32>, %c: memref<2x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<2x64xf32>)
  linalg.matmul ins(%a, %b : memref<2x48xf32>, memref<48x64xf32>) outs(%c : memref<2x64xf32>)
  return
}
