// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/square.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/square.low
// RUN: fastk-opt %t/square.low --compile-kernel=program --target=cuda:sm_90a -o %t/square
// RUN: cat %t/square/plan.json %t/square/kernel.ptx | FileCheck %s --check-prefix=SQUARE
// RUN: fastk-opt %t/channels.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/channels.low
// RUN: fastk-opt %t/channels.low --compile-kernel=program --target=cuda:sm_90a -o %t/channels
// RUN: cat %t/channels/plan.json %t/channels/kernel.ptx | FileCheck %s --check-prefix=CHANNELS
// RUN: fastk-opt %t/blocks.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/blocks.low
// RUN: fastk-opt %t/blocks.low --compile-kernel=program --target=cuda:sm_90a -o %t/blocks
// RUN: cat %t/blocks/plan.json %t/blocks/kernel.ptx | FileCheck %s --check-prefix=BLOCKS

// Operands that lie along another dimension than the result pass through shared
// memory by squares.

// SQUARE: {"launch":"k0","grid":[65536,1,1],"block":[256,1,1],"arguments":["in0","out0"]}]}
// SQUARE: .shared .align 4 .b8 {{.*}}[4224];
// SQUARE-COUNT-4: ld.global.b32
// SQUARE: st.shared.b32
// SQUARE: bar.sync
// SQUARE: ld.shared.b32
// SQUARE: st.global.b32

// 63 pixels by 40 channels.
// CHANNELS: st.shared.b32
// CHANNELS: bar.sync
// CHANNELS: setp

// The innermost dimension stays where it is: vectors, no square.
// BLOCKS-NOT: .shared
// BLOCKS: ld.global.v4.b32
// BLOCKS: st.global.v4.b32

//--- square.mlir
#map0 = affine_map<(d0,d1) -> (d1,d0)>
#map1 = affine_map<(d0,d1) -> (d0,d1)>
func.func @forward(%arg0: tensor<8192x8192xf32>) -> (tensor<8192x8192xf32>) {
  %v1 = tensor.empty() : tensor<8192x8192xf32>
  %v2 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","parallel"]} ins(%arg0 : tensor<8192x8192xf32>) outs(%v1 : tensor<8192x8192xf32>) {
  ^bb0(%i0: f32, %o: f32):
  linalg.yield %i0 : f32
  } -> tensor<8192x8192xf32>
  return %v2 : tensor<8192x8192xf32>
}

//--- channels.mlir
#map0 = affine_map<(d0,d1,d2,d3) -> (d0,d3,d1,d2)>
#map1 = affine_map<(d0,d1,d2,d3) -> (d0,d1,d2,d3)>
func.func @forward(%arg0: tensor<3x40x7x9xf32>) -> (tensor<3x7x9x40xf32>) {
  %v1 = tensor.empty() : tensor<3x7x9x40xf32>
  %v2 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%arg0 : tensor<3x40x7x9xf32>) outs(%v1 : tensor<3x7x9x40xf32>) {
  ^bb0(%i0: f32, %o: f32):
  linalg.yield %i0 : f32
  } -> tensor<3x7x9x40xf32>
  return %v2 : tensor<3x7x9x40xf32>
}

//--- blocks.mlir
#map0 = affine_map<(d0,d1,d2,d3) -> (d0,d2,d1,d3)>
#map1 = affine_map<(d0,d1,d2,d3) -> (d0,d1,d2,d3)>
func.func @forward(%arg0: tensor<16x1024x12x64xf32>) -> (tensor<16x12x1024x64xf32>) {
  %v1 = tensor.empty() : tensor<16x12x1024x64xf32>
  %v2 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%arg0 : tensor<16x1024x12x64xf32>) outs(%v1 : tensor<16x12x1024x64xf32>) {
  ^bb0(%i0: f32, %o: f32):
  linalg.yield %i0 : f32
  } -> tensor<16x12x1024x64xf32>
  return %v2 : tensor<16x12x1024x64xf32>
}
