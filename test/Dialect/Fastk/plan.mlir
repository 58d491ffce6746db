// RUN: fastk-opt %s | fastk-opt | FileCheck %s

// Every plan op, with every field, is printed as it was read.

// CHECK-LABEL: fastk.lowering @w_b8b3dcb2ff0131a9
// CHECK:      plan {
// CHECK-NEXT: ^bb0(%[[IN:.*]]: memref<8xf32>, %[[OUT:.*]]: memref<8xf32>):
// CHECK-NEXT:   %[[WS:.*]] = fastk.workspace zero : memref<65536xi8>
// CHECK-NEXT:   %[[MAP:.*]] = fastk.tensor_map %[[WS]] {box = array<i64: 64, 8>, dims = array<i64: 64, 128>, element_strides = array<i64: 1, 1>, element_type = "f16", l2_promotion = "256B", offset = 1024 : i64, oob_fill = "nan", strides = array<i64: 128>, swizzle = "128B"} : memref<65536xi8>
// CHECK-NEXT:   fastk.memset %[[WS]] {bytes = 1024 : i64, value = 255 : i64} : memref<65536xi8>
// CHECK-NEXT:   fastk.launch "prepare" grid [4, 1, 1] block [128, 1, 1](%[[IN]], %[[WS]]) {offsets = array<i64: 0, 2048>} : memref<8xf32>, memref<65536xi8>
// CHECK-NEXT:   %[[C:.*]] = arith.constant 8 : i32
// CHECK-NEXT:   %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
// CHECK-NEXT:   fastk.launch "apply" grid [4, 2, 1] block [256, 1, 1] cluster [2, 1, 1] shared 131072 cooperative overlaps_previous(%[[MAP]], %[[OUT]], %[[C]], %[[EPS]]) : !fastk.tensor_map, memref<8xf32>, i32, f32
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  %ws0 = fastk.workspace zero : memref<65536xi8>
  %map0 = fastk.tensor_map %ws0 {offset = 1024 : i64, element_type = "f16",
    dims = array<i64: 64, 128>, strides = array<i64: 128>,
    box = array<i64: 64, 8>, element_strides = array<i64: 1, 1>,
    swizzle = "128B", l2_promotion = "256B", oob_fill = "nan"} : memref<65536xi8>
  fastk.memset %ws0 {bytes = 1024 : i64, value = 255 : i64} : memref<65536xi8>
  fastk.launch "prepare" grid [4, 1, 1] block [128, 1, 1] (%in0, %ws0)
    {offsets = array<i64: 0, 2048>} : memref<8xf32>, memref<65536xi8>
  %n = arith.constant 8 : i32
  %eps = arith.constant 1.0e-5 : f32
  fastk.launch "apply" grid [4, 2, 1] block [256, 1, 1] cluster [2, 1, 1]
    shared 131072 cooperative overlaps_previous (%map0, %out0, %n, %eps)
    : !fastk.tensor_map, memref<8xf32>, i32, f32
}
