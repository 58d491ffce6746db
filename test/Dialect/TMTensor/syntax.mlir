// What torch-mlir prints is read, and printed as it does.
// RUN: fastk-opt %s --verify-roundtrip | FileCheck %s
// RUN: fastk-opt %s --verify-roundtrip --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: @scan
// CHECK: tm_tensor.scan dimension(1) inclusive(true) ins(%{{.*}} : tensor<3x5xf32>) outs(%{{.*}}, %{{.*}} : tensor<3x5xf32>, tensor<3xf32>) {
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK: tm_tensor.yield %{{.*}} : f32
// CHECK: } -> tensor<3x5xf32>, tensor<3xf32>
// GENERIC: "tm_tensor.scan"
// GENERIC-SAME: <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}>
func.func @scan(%x: tensor<3x5xf32>, %o: tensor<3x5xf32>, %a: tensor<3xf32>) -> tensor<3x5xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x5xf32>) outs(%o, %a : tensor<3x5xf32>, tensor<3xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %s = arith.addf %sum, %in : f32
    tm_tensor.yield %s : f32
  } -> tensor<3x5xf32>, tensor<3xf32>
  return %r#0 : tensor<3x5xf32>
}

// CHECK-LABEL: @scatter
// CHECK: tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%{{.*}}, %{{.*}} : tensor<2x1x5xf32>, tensor<2x1xi64>) outs(%{{.*}} : tensor<?x5xf32>) {
// CHECK: } -> tensor<?x5xf32>
// GENERIC: "tm_tensor.scatter"
// GENERIC-SAME: dimension_map = array<i64: 0>
// GENERIC-SAME: unique_indices = false
func.func @scatter(%u: tensor<2x1x5xf32>, %i: tensor<2x1xi64>, %x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<2x1x5xf32>, tensor<2x1xi64>) outs(%x : tensor<?x5xf32>) {
  ^bb0(%new: f32, %old: f32):
    %s = arith.addf %old, %new : f32
    tm_tensor.yield %s : f32
  } -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// CHECK-LABEL: @sort
// CHECK: tm_tensor.sort dimension(1) outs(%{{.*}}, %{{.*}} : tensor<3x5xf32>, tensor<3x5xi64>) {
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i64, %{{.*}}: i64):
// CHECK: } -> tensor<3x5xf32>, tensor<3x5xi64>
func.func @sort(%x: tensor<3x5xf32>, %i: tensor<3x5xi64>) -> tensor<3x5xi64> {
  %r:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<3x5xf32>, tensor<3x5xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %s = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<3x5xf32>, tensor<3x5xi64>
  return %r#1 : tensor<3x5xi64>
}

// CHECK-LABEL: @topk
// CHECK: tm_tensor.topk dimension(0) ins(%{{.*}} : tensor<7xf32>) outs(%{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xi32>) {
// CHECK: } -> tensor<2xf32>, tensor<2xi32>
func.func @topk(%x: tensor<7xf32>, %v: tensor<2xf32>, %i: tensor<2xi32>) -> tensor<2xi32> {
  %r:2 = tm_tensor.topk dimension(0) ins(%x : tensor<7xf32>) outs(%v, %i : tensor<2xf32>, tensor<2xi32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<2xf32>, tensor<2xi32>
  return %r#1 : tensor<2xi32>
}

// CHECK-LABEL: @attention
// CHECK: tm_tensor.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x6x8xf32>, tensor<8x5x8xf32>, tensor<8x5x4xf32>) outs(%{{.*}} : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
// CHECK: tm_tensor.attention {scale = 5.000000e-01 : f64} ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x6x8xf32>, tensor<8x5x8xf32>, tensor<8x5x4xf32>, tensor<8x6x5xi1>) outs(%{{.*}} : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
func.func @attention(%q: tensor<8x6x8xf32>, %k: tensor<8x5x8xf32>, %v: tensor<8x5x4xf32>, %m: tensor<8x6x5xi1>, %o: tensor<8x6x4xf32>) -> tensor<8x6x4xf32> {
  %a = tm_tensor.attention ins(%q, %k, %v : tensor<8x6x8xf32>, tensor<8x5x8xf32>, tensor<8x5x4xf32>) outs(%o : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %b = tm_tensor.attention {scale = 0.5 : f64} ins(%q, %k, %v, %m : tensor<8x6x8xf32>, tensor<8x5x8xf32>, tensor<8x5x4xf32>, tensor<8x6x5xi1>) outs(%a : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  return %b : tensor<8x6x4xf32>
}

// On memrefs there are no results.
// CHECK-LABEL: @buffers
// CHECK: tm_tensor.sort dimension(0) outs(%{{.*}} : memref<?xi32>) {
func.func @buffers(%x: memref<?xi32>) {
  tm_tensor.sort dimension(0) outs(%x : memref<?xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.cmpi sle, %a, %b : i32
    tm_tensor.yield %s : i1
  }
  return
}
