// REQUIRES: libdevice
// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/held.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/held.low
// RUN: fastk-opt %t/held.low --compile-kernel=program --target=cuda:sm_90a -o %t/held
// RUN: cat %t/held/plan.json %t/held/kernel.ptx | FileCheck %s --check-prefix=HELD
// RUN: fastk-opt %t/odd.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/odd.low
// RUN: fastk-opt %t/odd.low --compile-kernel=program --target=cuda:sm_90a -o %t/odd
// RUN: cat %t/odd/plan.json %t/odd/kernel.ptx | FileCheck %s --check-prefix=ODD
// RUN: fastk-opt %t/long.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/long.low
// RUN: fastk-opt %t/long.low --compile-kernel=program --target=cuda:sm_90a -o %t/long
// RUN: cat %t/long/plan.json %t/long/kernel.ptx | FileCheck %s --check-prefix=LONG
// RUN: fastk-opt %t/huge.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/huge.low
// RUN: fastk-opt %t/huge.low --compile-kernel=program --target=cuda:sm_90a -o %t/huge
// RUN: cat %t/huge/plan.json %t/huge/kernel.ptx | FileCheck %s --check-prefix=HUGE
// RUN: fastk-opt %t/short.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/short.low
// RUN: fastk-opt %t/short.low --compile-kernel=program --target=cuda:sm_90a -o %t/short
// RUN: cat %t/short/plan.json %t/short/kernel.ptx | FileCheck %s --check-prefix=SHORT
// RUN: fastk-opt %t/all.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/all.low
// RUN: fastk-opt %t/all.low --compile-kernel=program --target=cuda:sm_90a -o %t/all
// RUN: cat %t/all/plan.json %t/all/kernel.ptx | FileCheck %s --check-prefix=ALL

// Ops over the same rows, some of which reduce a row, are one kernel.

// A block a row, each element loaded once; maximum and sum through registers and
// one word a warp.
// HELD-NOT: workspaces
// HELD: "steps": [
// HELD-NEXT: {"launch":"k0","grid":[4096,1,1],"block":[256,1,1],"arguments":["in0","out0"]}]}
// HELD-NOT: .local
// HELD: .shared .align 4 .b8 {{.*}}[32];
// HELD-COUNT-4: ld.global.v4.b32
// HELD-NOT: ld.global
// HELD: shfl.sync.bfly.b32
// HELD: bar.sync
// HELD: shfl.sync.bfly.b32
// HELD: bar.sync
// HELD-COUNT-4: st.global.v4.b32
// HELD-NOT: st.global

// Rows of 257: elements one by one, the last ones under a condition.
// ODD: {"launch":"k0","grid":[1000,1,1],"block":[256,1,1],"arguments":["in0","out0"]}]}
// ODD-NOT: ld.global.v
// ODD: ld.global.b32
// ODD: setp

// A row of 256 KB fits no registers: each pass reads it, nothing else is stored.
// LONG-NOT: workspaces
// LONG: {"launch":"k0","grid":[4096,1,1],"block":[1024,1,1],"arguments":["in0","out0"]}]}
// LONG-NOT: .local
// LONG: ld.global.v4.b32
// LONG: st.global.v4.b32

// 16 rows of 4 million: blocks share a row and leave their sums in a workspace.
// HUGE: "workspaces": [
// HUGE-NEXT: {"bytes":16384}],
// HUGE-NEXT: "steps": [
// HUGE-NEXT: {"launch":"k0","grid":[1024,1,1],"block":[512,1,1],"arguments":["in0","in1","in2","out0","ws0","ws0+8192"]},
// HUGE-NEXT: {"launch":"k1","grid":[1024,1,1],{{.*}}"ws0","ws0+8192"]},
// HUGE-NEXT: {"launch":"k2","grid":[1024,1,1],{{.*}}"ws0","ws0+8192"]}]}

// Short rows: several in a warp, no shared memory. Weights are widened where
// they are used.
// SHORT: {"launch":"k0","grid":[{{[0-9]+}},1,1],"block":[128,1,1],"arguments":["in0","in1","in2","out0"]}]}
// SHORT-NOT: .shared
// SHORT: ld.global.v4.b32
// SHORT-NOT: bar.sync
// SHORT: shfl.sync.bfly.b32

// One row: what the blocks found is combined by one more.
// ALL: {"launch":"k0","grid":[{{[1-9][0-9]+}},1,1],{{.*}}"ws0"]},
// ALL-NEXT: {"launch":"k1","grid":[1,1,1],{{.*}}"out0","ws0"]}]}

//--- held.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
  %v1 = tensor.empty() : tensor<4096x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<4096x4096xf32>) outs(%v3 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v5 = tensor.empty() : tensor<4096x4096xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<4096x4096xf32>, tensor<4096x1xf32>) outs(%v5 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  %v7 = tensor.empty() : tensor<4096x4096xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<4096x4096xf32>) outs(%v7 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  %v9 = tensor.empty() : tensor<4096x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<4096x4096xf32>) outs(%v11 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v13 = tensor.empty() : tensor<4096x4096xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<4096x4096xf32>, tensor<4096x1xf32>) outs(%v13 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  return %v14 : tensor<4096x4096xf32>
}

//--- odd.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<1000x257xf32>) -> (tensor<1000x257xf32>) {
  %v1 = tensor.empty() : tensor<1000x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<1000x1xf32>) -> tensor<1000x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<1000x257xf32>) outs(%v3 : tensor<1000x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<1000x1xf32>
  %v5 = tensor.empty() : tensor<1000x257xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<1000x257xf32>, tensor<1000x1xf32>) outs(%v5 : tensor<1000x257xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<1000x257xf32>
  %v7 = tensor.empty() : tensor<1000x257xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<1000x257xf32>) outs(%v7 : tensor<1000x257xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<1000x257xf32>
  %v9 = tensor.empty() : tensor<1000x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<1000x1xf32>) -> tensor<1000x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<1000x257xf32>) outs(%v11 : tensor<1000x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<1000x1xf32>
  %v13 = tensor.empty() : tensor<1000x257xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<1000x257xf32>, tensor<1000x1xf32>) outs(%v13 : tensor<1000x257xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<1000x257xf32>
  return %v14 : tensor<1000x257xf32>
}

//--- long.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<4096x65536xf32>) -> (tensor<4096x65536xf32>) {
  %v1 = tensor.empty() : tensor<4096x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<4096x65536xf32>) outs(%v3 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v5 = tensor.empty() : tensor<4096x65536xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<4096x65536xf32>, tensor<4096x1xf32>) outs(%v5 : tensor<4096x65536xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x65536xf32>
  %v7 = tensor.empty() : tensor<4096x65536xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<4096x65536xf32>) outs(%v7 : tensor<4096x65536xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<4096x65536xf32>
  %v9 = tensor.empty() : tensor<4096x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<4096x65536xf32>) outs(%v11 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v13 = tensor.empty() : tensor<4096x65536xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<4096x65536xf32>, tensor<4096x1xf32>) outs(%v13 : tensor<4096x65536xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x65536xf32>
  return %v14 : tensor<4096x65536xf32>
}

//--- huge.mlir
#map0 = affine_map<(d0,d1,d2,d3) -> (d0,d1,d2,d3)>
#map1 = affine_map<(d0,d1,d2,d3) -> (d0,0,0,0)>
#map2 = affine_map<(d0,d1,d2,d3) -> (d1,d2,d3)>
func.func @forward(%arg0: tensor<16x64x256x256xf32>, %arg1: tensor<64x256x256xf32>, %arg2: tensor<64x256x256xf32>) -> (tensor<16x64x256x256xf32>) {
  %v1 = arith.constant 4194304.0 : f32
  %v2 = arith.constant 1.0e-05 : f32
  %v3 = tensor.empty() : tensor<16x1x1x1xf32>
  %v4 = arith.constant 0.0 : f32
  %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<16x1x1x1xf32>) -> tensor<16x1x1x1xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction","reduction","reduction"]} ins(%arg0 : tensor<16x64x256x256xf32>) outs(%v5 : tensor<16x1x1x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<16x1x1x1xf32>
  %v7 = tensor.empty() : tensor<16x1x1x1xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v6 : tensor<16x1x1x1xf32>) outs(%v7 : tensor<16x1x1x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.divf %i0, %v1 : f32
  linalg.yield %z : f32
  } -> tensor<16x1x1x1xf32>
  %v9 = tensor.empty() : tensor<16x64x256x256xf32>
  %v10 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%arg0, %v8 : tensor<16x64x256x256xf32>, tensor<16x1x1x1xf32>) outs(%v9 : tensor<16x64x256x256xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<16x64x256x256xf32>
  %v11 = tensor.empty() : tensor<16x64x256x256xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map0,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v10, %v10 : tensor<16x64x256x256xf32>, tensor<16x64x256x256xf32>) outs(%v11 : tensor<16x64x256x256xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<16x64x256x256xf32>
  %v13 = tensor.empty() : tensor<16x1x1x1xf32>
  %v14 = arith.constant 0.0 : f32
  %v15 = linalg.fill ins(%v14 : f32) outs(%v13 : tensor<16x1x1x1xf32>) -> tensor<16x1x1x1xf32>
  %v16 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction","reduction","reduction"]} ins(%v12 : tensor<16x64x256x256xf32>) outs(%v15 : tensor<16x1x1x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<16x1x1x1xf32>
  %v17 = tensor.empty() : tensor<16x1x1x1xf32>
  %v18 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v16 : tensor<16x1x1x1xf32>) outs(%v17 : tensor<16x1x1x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %a = arith.divf %i0, %v1 : f32
  %b = arith.addf %a, %v2 : f32
  %z = math.rsqrt %b : f32
  linalg.yield %z : f32
  } -> tensor<16x1x1x1xf32>
  %v19 = tensor.empty() : tensor<16x64x256x256xf32>
  %v20 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v10, %v18 : tensor<16x64x256x256xf32>, tensor<16x1x1x1xf32>) outs(%v19 : tensor<16x64x256x256xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<16x64x256x256xf32>
  %v21 = tensor.empty() : tensor<16x64x256x256xf32>
  %v22 = linalg.generic {indexing_maps=[#map0,#map2,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v20, %arg1 : tensor<16x64x256x256xf32>, tensor<64x256x256xf32>) outs(%v21 : tensor<16x64x256x256xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<16x64x256x256xf32>
  %v23 = tensor.empty() : tensor<16x64x256x256xf32>
  %v24 = linalg.generic {indexing_maps=[#map0,#map2,#map0], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%v22, %arg2 : tensor<16x64x256x256xf32>, tensor<64x256x256xf32>) outs(%v23 : tensor<16x64x256x256xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.addf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<16x64x256x256xf32>
  return %v24 : tensor<16x64x256x256xf32>
}

//--- short.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0,d1) -> (d0,0)>
#map3 = affine_map<(d0,d1) -> (d1)>
func.func @forward(%arg0: tensor<300x24xf16>, %arg1: tensor<24xf16>, %arg2: tensor<24xf16>) -> (tensor<300x24xf16>) {
  %v1 = tensor.empty() : tensor<300x24xf32>
  %v2 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%arg0 : tensor<300x24xf16>) outs(%v1 : tensor<300x24xf32>) {
  ^bb0(%i0: f16, %o: f32):
  %z = arith.extf %i0 : f16 to f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v3 = tensor.empty() : tensor<24xf32>
  %v4 = linalg.generic {indexing_maps=[#map1,#map1], iterator_types=["parallel"]} ins(%arg1 : tensor<24xf16>) outs(%v3 : tensor<24xf32>) {
  ^bb0(%i0: f16, %o: f32):
  %z = arith.extf %i0 : f16 to f32
  linalg.yield %z : f32
  } -> tensor<24xf32>
  %v5 = tensor.empty() : tensor<24xf32>
  %v6 = linalg.generic {indexing_maps=[#map1,#map1], iterator_types=["parallel"]} ins(%arg2 : tensor<24xf16>) outs(%v5 : tensor<24xf32>) {
  ^bb0(%i0: f16, %o: f32):
  %z = arith.extf %i0 : f16 to f32
  linalg.yield %z : f32
  } -> tensor<24xf32>
  %v7 = arith.constant 24.0 : f32
  %v8 = arith.constant 1.0e-05 : f32
  %v9 = tensor.empty() : tensor<300x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<300x1xf32>) -> tensor<300x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map2], iterator_types=["parallel","reduction"]} ins(%v2 : tensor<300x24xf32>) outs(%v11 : tensor<300x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<300x1xf32>
  %v13 = tensor.empty() : tensor<300x1xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v12 : tensor<300x1xf32>) outs(%v13 : tensor<300x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.divf %i0, %v7 : f32
  linalg.yield %z : f32
  } -> tensor<300x1xf32>
  %v15 = tensor.empty() : tensor<300x24xf32>
  %v16 = linalg.generic {indexing_maps=[#map0,#map2,#map0], iterator_types=["parallel","parallel"]} ins(%v2, %v14 : tensor<300x24xf32>, tensor<300x1xf32>) outs(%v15 : tensor<300x24xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v17 = tensor.empty() : tensor<300x24xf32>
  %v18 = linalg.generic {indexing_maps=[#map0,#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v16, %v16 : tensor<300x24xf32>, tensor<300x24xf32>) outs(%v17 : tensor<300x24xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v19 = tensor.empty() : tensor<300x1xf32>
  %v20 = arith.constant 0.0 : f32
  %v21 = linalg.fill ins(%v20 : f32) outs(%v19 : tensor<300x1xf32>) -> tensor<300x1xf32>
  %v22 = linalg.generic {indexing_maps=[#map0,#map2], iterator_types=["parallel","reduction"]} ins(%v18 : tensor<300x24xf32>) outs(%v21 : tensor<300x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<300x1xf32>
  %v23 = tensor.empty() : tensor<300x1xf32>
  %v24 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v22 : tensor<300x1xf32>) outs(%v23 : tensor<300x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %a = arith.divf %i0, %v7 : f32
  %b = arith.addf %a, %v8 : f32
  %z = math.rsqrt %b : f32
  linalg.yield %z : f32
  } -> tensor<300x1xf32>
  %v25 = tensor.empty() : tensor<300x24xf32>
  %v26 = linalg.generic {indexing_maps=[#map0,#map2,#map0], iterator_types=["parallel","parallel"]} ins(%v16, %v24 : tensor<300x24xf32>, tensor<300x1xf32>) outs(%v25 : tensor<300x24xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v27 = tensor.empty() : tensor<300x24xf32>
  %v28 = linalg.generic {indexing_maps=[#map0,#map3,#map0], iterator_types=["parallel","parallel"]} ins(%v26, %v4 : tensor<300x24xf32>, tensor<24xf32>) outs(%v27 : tensor<300x24xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.mulf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v29 = tensor.empty() : tensor<300x24xf32>
  %v30 = linalg.generic {indexing_maps=[#map0,#map3,#map0], iterator_types=["parallel","parallel"]} ins(%v28, %v6 : tensor<300x24xf32>, tensor<24xf32>) outs(%v29 : tensor<300x24xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.addf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<300x24xf32>
  %v31 = tensor.empty() : tensor<300x24xf16>
  %v32 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v30 : tensor<300x24xf32>) outs(%v31 : tensor<300x24xf16>) {
  ^bb0(%i0: f32, %o: f16):
  %z = arith.truncf %i0 : f32 to f16
  linalg.yield %z : f16
  } -> tensor<300x24xf16>
  return %v32 : tensor<300x24xf16>
}

//--- all.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> ()>
func.func @forward(%arg0: tensor<4099x1031xf32>) -> (tensor<f32>) {
  %v1 = tensor.empty() : tensor<f32>
  %v2 = arith.constant 0.0 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<f32>) -> tensor<f32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["reduction","reduction"]} ins(%arg0 : tensor<4099x1031xf32>) outs(%v3 : tensor<f32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<f32>
  return %v4 : tensor<f32>
}
