// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/square.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/square.low
// RUN: fastk-opt %t/square.low --compile-kernel=program --target=cuda:sm_90a -o %t/square
// RUN: cat %t/square/plan.json %t/square/kernel.ptx | FileCheck %s --check-prefix=SQUARE
// RUN: fastk-opt %t/odd.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/odd.low
// RUN: fastk-opt %t/odd.low --compile-kernel=program --target=cuda:sm_90a -o %t/odd
// RUN: cat %t/odd/plan.json %t/odd/kernel.ptx | FileCheck %s --check-prefix=ODD
// RUN: fastk-opt %t/transposed.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/transposed.low
// RUN: fastk-opt %t/transposed.low --compile-kernel=program --target=cuda:sm_90a -o %t/transposed
// RUN: cat %t/transposed/plan.json %t/transposed/kernel.ptx | FileCheck %s --check-prefix=TRANS
// RUN: fastk-opt %t/batched.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/batched.low
// RUN: fastk-opt %t/batched.low --compile-kernel=program --target=cuda:sm_90a -o %t/batched
// RUN: cat %t/batched/plan.json %t/batched/kernel.ptx | FileCheck %s --check-prefix=BATCH
// RUN: fastk-opt %t/scaled.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/scaled.low
// RUN: fastk-opt %t/scaled.low --compile-kernel=program --target=cuda:sm_90a -o %t/scaled
// RUN: cat %t/scaled/plan.json %t/scaled/kernel.ptx | FileCheck %s --check-prefix=SCALED
// RUN: fastk-opt %t/double.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/double.low
// RUN: fastk-opt %t/double.low --compile-kernel=program --target=cuda:sm_90a -o %t/double
// RUN: cat %t/double/plan.json %t/double/kernel.ptx | FileCheck %s --check-prefix=DOUBLE

// Matrix products in f32 and f64: tiles through shared memory, wide accesses
// where shapes allow them.

// One kernel, which fills the result as well; one block a 128 x 128 tile.
// SQUARE: "steps": [
// SQUARE-NEXT: {"launch":"k0","grid":[128,1,1],"block":[256,1,1],"arguments":["in0","in1","out0"]}]}
// SQUARE: .visible .entry k0(
// SQUARE: .minnctapersm 2
// SQUARE: .shared .align 16 .b8
// SQUARE: ld.global.v4.b32
// SQUARE: ld.shared.v4.b32
// SQUARE-COUNT-64: fma.rn.f32
// SQUARE: st.global.v4.b32
// SQUARE-NOT: ld.global.b32

// Shapes that divide by nothing: elements one by one, and what lies outside is
// not stored.
// ODD: "grid":[6,1,1],"block":[256,1,1]
// ODD-NOT: ld.global.v4
// ODD: ld.global.b32
// ODD: ld.shared.v4.b32
// ODD: fma.rn.f32
// ODD-NOT: st.global.v4
// ODD: @%p{{[0-9]+}} bra
// ODD: st.global.b32

// Both operands transposed: read as they lie.
// TRANS: "arguments":["in{{[01]}}","in{{[01]}}","out0"]}]}
// TRANS: ld.global.v4.b32
// TRANS-NOT: ld.global.b32
// TRANS: ld.shared.v4.b32
// TRANS: fma.rn.f32
// TRANS: st.global.v4.b32

// A tile belongs to one batch: 2 x 2 tiles of 64 x 64 each.
// BATCH: "grid":[12,1,1],"block":[256,1,1]
// BATCH: fma.rn.f32

// What is computed on an operand before the product is computed once per
// element, on the way to shared memory; f16 that are more than widened stay
// with scalar arithmetic.
// SCALED-NOT: mma.sync
// SCALED: cvt.f32.f16
// SCALED: mul.{{(rn\.)?}}f32
// SCALED: st.shared
// SCALED: fma.rn.f32
// SCALED-NOT: mma.sync

// DOUBLE: ld.global.v2.b64
// DOUBLE: ld.shared.v2.b64
// DOUBLE: fma.rn.f64

//--- square.mlir
func.func @forward(%a0: tensor<1024x512xf32>, %a1: tensor<512x2048xf32>) -> tensor<1024x2048xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x2048xf32>) -> tensor<1024x2048xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<1024x512xf32>, tensor<512x2048xf32>) outs(%f : tensor<1024x2048xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<1024x2048xf32>
  return %r : tensor<1024x2048xf32>
}
//--- odd.mlir
func.func @forward(%a0: tensor<129x53xf32>, %a1: tensor<53x77xf32>) -> tensor<129x77xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<129x77xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<129x77xf32>) -> tensor<129x77xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<129x53xf32>, tensor<53x77xf32>) outs(%f : tensor<129x77xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<129x77xf32>
  return %r : tensor<129x77xf32>
}
//--- transposed.mlir
func.func @forward(%a0: tensor<72x136xf32>, %a1: tensor<264x72xf32>) -> tensor<136x264xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<136x264xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<136x264xf32>) -> tensor<136x264xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<72x136xf32>, tensor<264x72xf32>) outs(%f : tensor<136x264xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<136x264xf32>
  return %r : tensor<136x264xf32>
}
//--- batched.mlir
func.func @forward(%a0: tensor<3x70x33xf32>, %a1: tensor<3x33x65xf32>) -> tensor<3x70x65xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x70x65xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x70x65xf32>) -> tensor<3x70x65xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<3x70x33xf32>, tensor<3x33x65xf32>) outs(%f : tensor<3x70x65xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<3x70x65xf32>
  return %r : tensor<3x70x65xf32>
}
//--- scaled.mlir
func.func @forward(%a0: tensor<200x72xf16>, %a1: tensor<72x136xf16>) -> tensor<200x136xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200x136xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<200x136xf32>) -> tensor<200x136xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<200x72xf16>, tensor<72x136xf16>) outs(%f : tensor<200x136xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %e0 = arith.extf %i0 : f16 to f32
    %e1 = arith.extf %i1 : f16 to f32
    %sc = arith.constant 0.125 : f32
    %q = arith.mulf %e0, %sc : f32
    %p = arith.mulf %q, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<200x136xf32>
  return %r : tensor<200x136xf32>
}
//--- double.mlir
func.func @forward(%a0: tensor<128x64xf64>, %a1: tensor<64x128xf64>) -> tensor<128x128xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<128x128xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<128x128xf64>) -> tensor<128x128xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<128x64xf64>, tensor<64x128xf64>) outs(%f : tensor<128x128xf64>) {
  ^bb0(%i0: f64, %i1: f64, %o: f64):
    %p = arith.mulf %i0, %i1 : f64
    %s = arith.addf %p, %o : f64
    linalg.yield %s : f64
  } -> tensor<128x128xf64>
  return %r : tensor<128x128xf64>
}
