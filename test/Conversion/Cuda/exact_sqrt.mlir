// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernel.ptx

// A root in f32 is rounded once, as in torch: libdevice's would be approximate.
// That of a complex number's size as well.
// CHECK-NOT: sqrt.approx
// CHECK-COUNT-2: sqrt.rn.f32
// CHECK-NOT: sqrt.approx
#map = affine_map<(d0) -> (d0)>
func.func @roots(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %empty = tensor.empty() : tensor<1024xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<1024xf32>) outs(%empty : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.sqrt %in : f32
    %2 = complex.create %1, %in : complex<f32>
    %3 = complex.abs %2 : complex<f32>
    linalg.yield %3 : f32
  } -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
