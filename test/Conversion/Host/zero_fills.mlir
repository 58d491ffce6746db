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
// CHECK: %[[C1:.*]], %{{.*}}, %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %arg2
// CHECK-NOT: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK: %[[FLAT1:.*]] = memref.reinterpret_cast %[[C1]]
// CHECK-NOT: load %[[FLAT1]]
// CHECK-NOT: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @two_passes
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @not_zero
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @read_between
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @too_small
// CHECK: memref.store %cst{{.*}} memref<2x64xf32>
// CHECK-LABEL: func.func @other_name
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @negative_zero
// CHECK: memref.store %cst{{.*}} memref<64x64xf32>
// CHECK-LABEL: func.func @marked
// CHECK: %[[C:.*]], %{{.*}}, %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %arg2
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[C]]
// CHECK: load %[[FLAT]]
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
// The copy reads the zeros by a name that the buffer had before.
func.func @other_name(%p: i1, %a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>, %d: memref<64x64xf32>, %o: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = arith.select %p, %c, %o : memref<64x64xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  memref.copy %s, %d : memref<64x64xf32> to memref<64x64xf32>
  linalg.matmul ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
func.func @negative_zero(%a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant -0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
// A mark that the pass did not make says nothing: the sum begins with what is there.
func.func @marked(%a: memref<64x48xf32>, %b: memref<48x64xf32>, %c: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<64x48xf32>, memref<48x64xf32>) outs(%c : memref<64x64xf32>) attrs = {fastk.from_zero} {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
