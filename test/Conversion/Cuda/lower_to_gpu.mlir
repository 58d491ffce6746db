// Kernels of the default lowering, as IR: no GPU, no CUDA and no libdevice.
// RUN: fastk-opt %s --split-input-file --fastk-lower-to-gpu | FileCheck %s

// A reduction over rows of memory: parts of the columns in a workspace, then their sums.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: %[[X:.*]]: memref<4096x64xf32>, %[[INIT:.*]]: memref<64xf32>, %[[Y:.*]]: memref<64xf32>)
// CHECK: %[[WS:.*]] = fastk.workspace : memref<{{[0-9]+}}xi8>
// CHECK: fastk.launch "k0" {{.*}}(%[[INIT]], %[[Y]])
// CHECK: fastk.launch "k1" {{.*}}(%[[X]], %[[Y]], %[[WS]])
// CHECK: fastk.launch "k2" {{.*}}(%[[X]], %[[Y]], %[[WS]])
// CHECK: return
// CHECK: gpu.module @fastk attributes {fastk.kernels = [{{.*}}kind = "reduction"
// CHECK: gpu.func @k1({{.*}}workgroup({{.*}}#gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
func.func @columns(%x: tensor<4096x64xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.reduce ins(%x : tensor<4096x64xf32>) outs(%init : tensor<64xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %1 = arith.addf %a, %b : f32
      linalg.yield %1 : f32
    }
  return %0 : tensor<64xf32>
}

// -----

// What is read along another dimension than it is written goes through squares in shared memory.
// CHECK-LABEL: func.func @transpose(
// CHECK: fastk.launch "k0" grid [128, 1, 1] block [256, 1, 1]
// CHECK: fastk.kernels = [{kind = "turn", turn_square = 32
// CHECK: workgroup(
// CHECK: gpu.barrier
func.func @transpose(%x: tensor<256x512xf32>) -> tensor<512x256xf32> {
  %e = tensor.empty() : tensor<512x256xf32>
  %0 = linalg.transpose ins(%x : tensor<256x512xf32>) outs(%e : tensor<512x256xf32>) permutation = [1, 0]
  return %0 : tensor<512x256xf32>
}

// -----

// A small product is cut along what is summed, so that all of the device has work.
// CHECK-LABEL: func.func @matmul_f32(
// CHECK: fastk.workspace
// CHECK-COUNT-2: fastk.launch
// CHECK: fastk.kernels = [{contraction_band = 8 : i64, contraction_parts = 2 : i64, kind = "scalar tiles"
// CHECK: llvm.intr.fma
func.func @matmul_f32(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// -----

// CHECK-LABEL: func.func @matmul_f16(
// CHECK: fastk.launch "k0" {{.*}} shared 49152
// CHECK: kind = "tensor-core tiles"
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
func.func @matmul_f16(%a: tensor<256x256xf16>, %b: tensor<256x256xf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<256x256xf16>, tensor<256x256xf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// -----

// Ops over the same rows are one kernel: a block a row, shuffles for its maximum.
// CHECK-LABEL: func.func @rows(
// CHECK: fastk.launch "k0" grid [512, 1, 1] block [256, 1, 1]
// CHECK-NOT: fastk.launch
// CHECK: fastk.kernels = [{kind = "rows"
// CHECK: vector.load
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: vector.store
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @rows(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<512xf32>
  %e2 = tensor.empty() : tensor<512x1024xf32>
  %f = linalg.fill ins(%low : f32) outs(%e1 : tensor<512xf32>) -> tensor<512xf32>
  %max = linalg.reduce ins(%x : tensor<512x1024xf32>) outs(%f : tensor<512xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %1 = arith.maximumf %a, %b : f32
      linalg.yield %1 : f32
    }
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<512x1024xf32>, tensor<512xf32>) outs(%e2 : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}

// -----

// What no other strategy takes: one thread a point.
// CHECK-LABEL: func.func @points(
// CHECK: fastk.kernels = [{kind = "points", point_threads = 256
#some = affine_map<(d0, d1) -> (d0 mod 3, d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @points(%x: tensor<3x5xf32>) -> tensor<9x5xf32> {
  %e = tensor.empty() : tensor<9x5xf32>
  %0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<9x5xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %three = arith.constant 3 : index
    %r = arith.remui %i, %three : index
    %v = tensor.extract %x[%r, %j] : tensor<3x5xf32>
    linalg.yield %v : f32
  } -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

// -----

// What a kernel has to decide may be said in IR.
// CHECK-LABEL: func.func @chosen(
// CHECK: fastk.launch "k0" grid [4, 1, 1] block [64, 1, 1]
// CHECK: kind = "vectors", vector_count = 1 : i64, vector_threads = 64 : i64
func.func @chosen(%x: tensor<1024xf32>) -> tensor<1024xf32> attributes {fastk.vector_threads = 64 : i64} {
  %e = tensor.empty() : tensor<1024xf32>
  %0 = linalg.negf ins(%x : tensor<1024xf32>) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
