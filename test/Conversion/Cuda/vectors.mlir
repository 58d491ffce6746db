// REQUIRES: libdevice
// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/even.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/even.low
// RUN: fastk-opt %t/even.low --compile-kernel=program --target=cuda:sm_90a -o %t/even
// RUN: cat %t/even/plan.json %t/even/kernel.ptx | FileCheck %s --check-prefix=EVEN
// RUN: fastk-opt %t/rows.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/rows.low
// RUN: fastk-opt %t/rows.low --compile-kernel=program --target=cuda:sm_90a -o %t/rows
// RUN: cat %t/rows/plan.json %t/rows/kernel.ptx | FileCheck %s --check-prefix=ROWS
// RUN: fastk-opt %t/tail.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/tail.low
// RUN: fastk-opt %t/tail.low --compile-kernel=oracle --target=cuda:sm_90a -o %t/tail
// RUN: cat %t/tail/plan.json %t/tail/kernel.ptx | FileCheck %s --check-prefix=TAIL

// Elementwise ops by accesses of 16 bytes, several a thread.

// EVEN: {"launch":"k0","grid":[2048,1,1],"block":[256,1,1],"arguments":["in0","in1","out0"]}]}
// EVEN-NOT: div
// EVEN-NOT: rem
// EVEN-COUNT-4: ld.global.v4.b32
// EVEN-COUNT-4: st.global.v4.b32
// EVEN-NOT: st.global

// Rows of 77 divide by nothing.
// ROWS-NOT: ld.global.v
// ROWS: ld.global.b32
// ROWS-NOT: ld.global.v

// One row of 1001000 points: vectors, and single threads for what is left. The
// oracle computes in f64.
// TAIL-NOT: ex2
// TAIL: ld.global.v4.b32
// TAIL: fma.rn.f64
// TAIL: st.global.v2.b64

//--- even.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d1)>
func.func @forward(%arg0: tensor<4096x4096xf16>, %arg1: tensor<4096xf16>) -> (tensor<4096x4096xf16>) {
  %v1 = tensor.empty() : tensor<4096x4096xf16>
  %v2 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %arg1 : tensor<4096x4096xf16>, tensor<4096xf16>) outs(%v1 : tensor<4096x4096xf16>) {
  ^bb0(%i0: f16, %i1: f16, %o: f16):
  %z = arith.addf %i0, %i1 : f16
  linalg.yield %z : f16
  } -> tensor<4096x4096xf16>
  return %v2 : tensor<4096x4096xf16>
}

//--- rows.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d1)>
func.func @forward(%arg0: tensor<1000x77xf32>, %arg1: tensor<77xf32>) -> (tensor<1000x77xf32>) {
  %v1 = tensor.empty() : tensor<1000x77xf32>
  %v2 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %arg1 : tensor<1000x77xf32>, tensor<77xf32>) outs(%v1 : tensor<1000x77xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.addf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<1000x77xf32>
  return %v2 : tensor<1000x77xf32>
}

//--- tail.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
func.func @forward(%arg0: tensor<1000x1001xf32>, %arg1: tensor<1000x1001xf32>) -> (tensor<1000x1001xf32>) {
  %v1 = arith.constant 1.0 : f32
  %v2 = tensor.empty() : tensor<1000x1001xf32>
  %v3 = linalg.generic {indexing_maps=[#map0,#map0,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %arg1 : tensor<1000x1001xf32>, tensor<1000x1001xf32>) outs(%v2 : tensor<1000x1001xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %n = arith.negf %i0 : f32
  %e = math.exp %n : f32
  %d = arith.addf %e, %v1 : f32
  %g = arith.divf %v1, %d : f32
  %m = arith.mulf %i0, %g : f32
  %z = arith.addf %m, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<1000x1001xf32>
  return %v3 : tensor<1000x1001xf32>
}
