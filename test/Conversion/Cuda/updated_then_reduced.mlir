// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=kernels --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernels.mlir

// An elementwise op that reads its own result, under a reduction of two results:
// no result varies along the loop that is reduced.
// CHECK-COUNT-1: arith.maximumf
// CHECK-NOT: arith.maximumf
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @update(%x: tensor<100x5xf32>) -> tensor<100xi64> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %before = tensor.empty() : tensor<100x5xf32>
  %y = linalg.fill ins(%zero : f32) outs(%before : tensor<100x5xf32>) -> tensor<100x5xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<100x5xf32>) outs(%y : tensor<100x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maximumf %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<100x5xf32>
  %empty = tensor.empty() : tensor<100xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<100xf32>) -> tensor<100xf32>
  %places = tensor.empty() : tensor<100xi64>
  %first = linalg.fill ins(%one : i64) outs(%places : tensor<100xi64>) -> tensor<100xi64>
  %2:2 = linalg.generic {indexing_maps = [#map, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<100x5xf32>) outs(%start, %first : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %n = linalg.index 1 : index
    %here = arith.index_cast %n : index to i64
    %is = arith.cmpf ogt, %in, %best : f32
    %3 = arith.select %is, %in, %best : f32
    %4 = arith.select %is, %here, %at : i64
    linalg.yield %3, %4 : f32, i64
  } -> (tensor<100xf32>, tensor<100xi64>)
  return %2#1 : tensor<100xi64>
}
