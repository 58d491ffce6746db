// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole --fastk-lower-workloads=target=cuda:sm_90a -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernel.ptx
// RUN: fastk-opt %s --emit=so --target=cuda:sm_90a --emit-header=%t/model.h -o %t/model.so

// Tensors of complex numbers on a GPU, whose elements take twice their parts' bytes.
// CHECK: .entry
#map = affine_map<(d0) -> (d0)>
func.func @squares(%x: tensor<1024xcomplex<f32>>) -> tensor<1024xcomplex<f32>> {
  %empty = tensor.empty() : tensor<1024xcomplex<f32>>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<1024xcomplex<f32>>) outs(%empty : tensor<1024xcomplex<f32>>) {
  ^bb0(%in: complex<f32>, %out: complex<f32>):
    %1 = complex.mul %in, %in : complex<f32>
    linalg.yield %1 : complex<f32>
  } -> tensor<1024xcomplex<f32>>
  return %0 : tensor<1024xcomplex<f32>>
}
