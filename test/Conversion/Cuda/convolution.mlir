// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/strided.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/strided.low
// RUN: fastk-opt %t/strided.low --compile-kernel=program --target=cuda:sm_90a -o %t/strided
// RUN: cat %t/strided/plan.json %t/strided/kernel.ptx | FileCheck %s --check-prefix=STRIDED
// RUN: fastk-opt %t/half.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/half.low
// RUN: fastk-opt %t/half.low --compile-kernel=program --target=cuda:sm_90a -o %t/half
// RUN: cat %t/half/plan.json %t/half/kernel.ptx | FileCheck %s --check-prefix=HALF
// RUN: fastk-opt %t/grouped.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/grouped.low
// RUN: fastk-opt %t/grouped.low --compile-kernel=program --target=cuda:sm_90a -o %t/grouped
// RUN: cat %t/grouped/plan.json %t/grouped/kernel.ptx | FileCheck %s --check-prefix=GROUPED
// RUN: fastk-opt %t/depthwise.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/depthwise.low
// RUN: fastk-opt %t/depthwise.low --compile-kernel=program --target=cuda:sm_90a -o %t/depthwise
// RUN: cat %t/depthwise/plan.json %t/depthwise/kernel.ptx | FileCheck %s --check-prefix=DEPTH

// Convolutions are products of pixels, channels and windows: the same tiles, no
// operand is copied first.

// 302500 pixels by 96 channels in tiles of 128 x 96.
// STRIDED: "grid":[2364,1,1],"block":[192,1,1]
// STRIDED: ld.shared.v4.b32
// STRIDED: fma.rn.f32

// Channels innermost: runs of 8 are moved at once.
// HALF: cp.async.cg.shared.global
// HALF: mma.sync

// Groups are batches.
// GROUPED: ld.shared.v4.b32
// GROUPED: fma.rn.f32

// One channel a group leaves no columns: a thread a point.
// DEPTH-NOT: .shared
// DEPTH: ld.global.b32
// DEPTH-NOT: .shared

//--- strided.mlir
func.func @forward(%a0: tensor<100x3x227x227xf32>, %a1: tensor<96x3x11x11xf32>) -> tensor<100x96x55x55xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x96x55x55xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<100x96x55x55xf32>) -> tensor<100x96x55x55xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 4 + d5, d3 * 4 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<100x3x227x227xf32>, tensor<96x3x11x11xf32>) outs(%f : tensor<100x96x55x55xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<100x96x55x55xf32>
  return %r : tensor<100x96x55x55xf32>
}
//--- half.mlir
func.func @forward(%a0: tensor<2x16x14x16xf16>, %a1: tensor<3x3x16x24xf16>) -> tensor<2x14x12x24xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x14x12x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x14x12x24xf32>) -> tensor<2x14x12x24xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<2x16x14x16xf16>, tensor<3x3x16x24xf16>) outs(%f : tensor<2x14x12x24xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %e0 = arith.extf %i0 : f16 to f32
    %e1 = arith.extf %i1 : f16 to f32
    %p = arith.mulf %e0, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x14x12x24xf32>
  return %r : tensor<2x14x12x24xf32>
}
//--- grouped.mlir
func.func @forward(%a0: tensor<2x3x4x16x14xf32>, %a1: tensor<3x16x4x3x3xf32>) -> tensor<2x3x16x14x12xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x16x14x12xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x3x16x14x12xf32>) -> tensor<2x3x16x14x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d5, d3 + d6, d4 + d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d5, d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<2x3x4x16x14xf32>, tensor<3x16x4x3x3xf32>) outs(%f : tensor<2x3x16x14x12xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x3x16x14x12xf32>
  return %r : tensor<2x3x16x14x12xf32>
}
//--- depthwise.mlir
func.func @forward(%a0: tensor<2x24x16x14xf32>, %a1: tensor<24x3x3xf32>) -> tensor<2x24x14x12xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x24x14x12xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x24x14x12xf32>) -> tensor<2x24x14x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a0, %a1 : tensor<2x24x16x14xf32>, tensor<24x3x3xf32>) outs(%f : tensor<2x24x14x12xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x24x14x12xf32>
  return %r : tensor<2x24x14x12xf32>
}
