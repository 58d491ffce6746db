// By which strategy and with which numbers each op becomes kernels.
// RUN: fastk-opt %s --split-input-file --fastk-choose-kernels | FileCheck %s

#id = affine_map<(i) -> (i)>

// A copy is an op like others, and stays one. What holds for all kernels stands at the function.
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: fastk.inputs = 1 : i64, fastk.kernel = {approximate = 0 : i64}
// CHECK: linalg.generic
// CHECK-SAME: attrs = {fastk.kernel = {strategy = "vectors", vector_count = 1 : i64, vector_threads = 256 : i64, vector_width = 4 : i64}}
// CHECK: memref.copy {{.*}} {fastk.kernel = {strategy = "vectors"
// CHECK-NOT: linalg.generic
func.func @elementwise(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) attributes {fastk.inputs = 1 : i64} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  memref.copy %y, %z : memref<4096xf32> to memref<4096xf32>
  return
}

// -----

// Numbers of the function count for the ops that read them; those that are not given follow.
// CHECK-LABEL: func.func @given(
// CHECK-SAME: fastk.vector_threads = 64 : i64
// CHECK: vector_threads = 64 : i64
#id = affine_map<(i) -> (i)>
func.func @given(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {fastk.inputs = 1 : i64, fastk.vector_threads = 64 : i64} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// What the kernel of a contraction computes, too, has none of its own.
// CHECK-LABEL: func.func @folded(
// CHECK: attrs = {fastk.kernel = {strategy = "fold"}}
// CHECK: attrs = {fastk.kernel = {contraction_band = 8 : i64, contraction_parts = 2 : i64, scalar_columns = {{.*}}, strategy = "scalar tiles"}}
// CHECK: attrs = {fastk.kernel = {strategy = "fold"}}
#none = affine_map<(m, n) -> ()>
#c2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @folded(%x: memref<256x256xf32>, %y: memref<256x256xf32>, %z: memref<256x256xf32>) attributes {fastk.inputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#c2], iterator_types = ["parallel", "parallel"]} outs(%z : memref<256x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<256x256xf32>, memref<256x256xf32>) outs(%z : memref<256x256xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#c2, #c2], iterator_types = ["parallel", "parallel"]}
    ins(%z : memref<256x256xf32>) outs(%z : memref<256x256xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.negf %u : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A call of ops that share their rows is one op.
// CHECK-LABEL: func.func @rows(
// CHECK: fastk.call @sums(%{{.*}}) outs(%{{.*}}) {fastk.kernel = {row_backwards = 1 : i64, {{.*}}strategy = "rows"}}
#id2 = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @rows(%x: memref<64x128xf32>, %i: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 2 : i64} {
  fastk.call @sums(%x, %i) outs(%y) : (memref<64x128xf32>, memref<64xf32>, memref<64xf32>) -> ()
  return
}
func.func private @sums(%x: tensor<64x128xf32>, %i: tensor<64xf32>) -> tensor<64xf32> attributes {fastk.columns = 128 : i64, fastk.rows = 64 : i64} {
  %0 = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<64x128xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.addf %a, %o : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
