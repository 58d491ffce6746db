// Tensor ops that upstream does not bufferize: they are written as ops that it does.

// RUN: rm -rf %t && split-file %s %t && mkdir %t/bank
// RUN: fastk-run %t/lowered.mlir --bank=%t/bank --check | FileCheck %s
// CHECK-COUNT-2: check: result {{[0-9]}}: largest error {{.*}}: ok

// RUN: fastk-run %t/bits.mlir --bank=%t/bank | FileCheck %s --check-prefix=BITS
// BITS: result 0: 6xi32

//--- lowered.mlir
func.func @lowered(%a: tensor<5x18xf32>) -> (tensor<3x5x2x4xf32>, tensor<5x18xf32>) {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<3x5x2x4xf32>
  %packed = linalg.pack %a padding_value(%one : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %empty : tensor<5x18xf32> -> tensor<3x5x2x4xf32>
  %whole = tensor.empty() : tensor<5x18xf32>
  %unpacked = linalg.unpack %packed inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %whole : tensor<3x5x2x4xf32> -> tensor<5x18xf32>
  return %packed, %unpacked : tensor<3x5x2x4xf32>, tensor<5x18xf32>
}

//--- bits.mlir
func.func @bits(%a: tensor<6xf32>) -> tensor<6xi32> {
  %0 = tensor.bitcast %a : tensor<6xf32> to tensor<6xi32>
  return %0 : tensor<6xi32>
}
