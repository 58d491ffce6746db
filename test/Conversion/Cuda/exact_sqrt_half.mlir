// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernel.ptx

// Roots of halves are rounded once, too: by way of f32, where they are exact.
// CHECK-NOT: sqrt.approx
// CHECK: sqrt.rn.f32
// CHECK-NOT: sqrt.approx
#map = affine_map<(d0) -> (d0)>
func.func @roots(%x: tensor<1024xf16>) -> tensor<1024xf16> {
  %empty = tensor.empty() : tensor<1024xf16>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<1024xf16>) outs(%empty : tensor<1024xf16>) {
  ^bb0(%in: f16, %out: f16):
    %1 = math.sqrt %in : f16
    linalg.yield %1 : f16
  } -> tensor<1024xf16>
  return %0 : tensor<1024xf16>
}
