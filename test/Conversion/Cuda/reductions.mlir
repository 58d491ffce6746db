// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/columns.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/columns.low
// RUN: fastk-opt %t/columns.low --compile-kernel=program --target=cuda:sm_90a -o %t/columns
// RUN: cat %t/columns/plan.json %t/columns/kernel.ptx | FileCheck %s --check-prefix=COLUMNS
// RUN: fastk-opt %t/channels.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/channels.low
// RUN: fastk-opt %t/channels.low --compile-kernel=program --target=cuda:sm_90a -o %t/channels
// RUN: cat %t/channels/plan.json %t/channels/kernel.ptx | FileCheck %s --check-prefix=CHANNELS

// Reductions that are no rows: threads lie along memory, blocks share the work.

// A thread has four columns; what the blocks found is added by a second kernel.
// COLUMNS: "workspaces": [
// COLUMNS: {"launch":"k[[FIRST:[0-9]+]]","grid":[{{[1-9][0-9][0-9]+}},1,1],"block":[256,1,1],"arguments":["in0","out0","ws0"]},
// COLUMNS-NEXT: {{.*}}"arguments":["in0","out0","ws0"]}]}
// COLUMNS-NOT: .local
// COLUMNS: .entry k[[FIRST]](
// COLUMNS-COUNT-4: ld.global.v4.b32
// COLUMNS: bar.sync

// Statistics of a channel over images and pixels.
// CHANNELS: {"launch":"k[[FIRST:[0-9]+]]","grid":[{{[1-9][0-9][0-9]+}},1,1],"block":[256,1,1],"arguments":["in0","out0","ws0"]},
// CHANNELS: .entry k[[FIRST]](
// CHANNELS: ld.global.v4.b32
// CHANNELS: shfl.sync.bfly.b32

//--- columns.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d1)>
func.func @forward(%arg0: tensor<8192x8192xf32>) -> (tensor<8192xf32>) {
  %v1 = tensor.empty() : tensor<8192xf32>
  %v2 = arith.constant 0.0 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<8192xf32>) -> tensor<8192xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["reduction","parallel"]} ins(%arg0 : tensor<8192x8192xf32>) outs(%v3 : tensor<8192xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<8192xf32>
  return %v4 : tensor<8192xf32>
}

//--- channels.mlir
#map0 = affine_map<(d0,d1,d2,d3) -> (d0,d1,d2,d3)>
#map1 = affine_map<(d0,d1,d2,d3) -> (d1)>
func.func @forward(%arg0: tensor<64x64x112x112xf32>) -> (tensor<64xf32>) {
  %v1 = tensor.empty() : tensor<64xf32>
  %v2 = arith.constant 0.0 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<64xf32>) -> tensor<64xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["reduction","parallel","reduction","reduction"]} ins(%arg0 : tensor<64x64x112x112xf32>) outs(%v3 : tensor<64xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<64xf32>
  return %v4 : tensor<64xf32>
}
