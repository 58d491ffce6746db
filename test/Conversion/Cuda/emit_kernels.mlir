// Kernels are as fastk.kernel says, which somebody may have edited.
// RUN: fastk-opt %s --split-input-file --fastk-emit-kernels | FileCheck %s

// Another strategy than the one that would be chosen; its other numbers the model decides.
// CHECK-LABEL: func.func @points(
// CHECK-SAME: memref<4096xf32>, %{{.*}}: memref<4096xf32>) {
// CHECK-NEXT: fastk.launch "k0" grid [64, 1, 1] block [64, 1, 1]
// CHECK: gpu.module @fastk attributes {fastk.kernels = [{kind = "points", point_threads = 64 : i64}]}
// CHECK-NOT: vector.load
#id = affine_map<(i) -> (i)>
func.func @points(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {fastk.inputs = 1 : i64} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>)
    attrs = {fastk.kernel = {strategy = "points", point_threads = 64 : i64}} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Two ops of one strategy with numbers of their own: those of a function count for all.
// CHECK-LABEL: func.func @apart(
// CHECK: fastk.launch "k0" grid [32, 1, 1] block [32, 1, 1]
// CHECK: fastk.launch "k1" grid [2, 1, 1] block [512, 1, 1]
func.func @apart(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) attributes {fastk.inputs = 1 : i64} {
  memref.copy %x, %y {fastk.kernel = {strategy = "vectors", vector_threads = 32 : i64}} : memref<4096xf32> to memref<4096xf32>
  memref.copy %x, %z {fastk.kernel = {strategy = "vectors", vector_threads = 512 : i64}} : memref<4096xf32> to memref<4096xf32>
  return
}

// -----

// What is not to be folded has a kernel of its own.
// CHECK-LABEL: func.func @unfolded(
// CHECK: fastk.launch "k0"
// CHECK: fastk.launch "k1"
// CHECK-NOT: fastk.launch "k2"
// CHECK: fastk.kernels = [{contraction_band = 8 : i64, contraction_parts = 1 : i64, kind = "scalar tiles"{{.*}}}, {kind = "vectors"
#c2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @unfolded(%x: memref<256x256xf32>, %y: memref<256x256xf32>, %z: memref<256x256xf32>) attributes {fastk.inputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#c2], iterator_types = ["parallel", "parallel"]} outs(%z : memref<256x256xf32>)
    attrs = {fastk.kernel = {strategy = "fold"}} {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<256x256xf32>, memref<256x256xf32>) outs(%z : memref<256x256xf32>)
    attrs = {fastk.kernel = {strategy = "scalar tiles", contraction_parts = 1 : i64}} {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#c2, #c2], iterator_types = ["parallel", "parallel"]}
    ins(%z : memref<256x256xf32>) outs(%z : memref<256x256xf32>)
    attrs = {fastk.kernel = {strategy = "vectors"}} {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.negf %u : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// What holds for all kernels stands at the function.
// CHECK-LABEL: func.func @approximate(
// CHECK-NOT: fastk.kernel =
// CHECK: approximate = 1 : i64, kind = "vectors"
// CHECK: math.exp {{.*}} fastmath<arcp,contract,afn>
#id = affine_map<(i) -> (i)>
func.func @approximate(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {fastk.inputs = 1 : i64, fastk.kernel = {approximate = 1 : i64}} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>)
    attrs = {fastk.kernel = {strategy = "vectors"}} {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}
