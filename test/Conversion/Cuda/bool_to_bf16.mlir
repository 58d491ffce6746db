// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernel.ptx

// True is -1.0, of which 0xBF80 (-16512) are the bits: what LLVM's backend makes
// of a conversion from a predicate has no sign.
// CHECK-NOT: cvt.rn.bf16
// CHECK: selp.b16 %{{.*}}, 0xBF80, 0x0000,
// CHECK-NOT: cvt.rn.bf16
#map = affine_map<(d0) -> (d0)>
func.func @signs(%x: tensor<1024xi1>) -> tensor<1024xbf16> {
  %empty = tensor.empty() : tensor<1024xbf16>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<1024xi1>) outs(%empty : tensor<1024xbf16>) {
  ^bb0(%in: i1, %out: bf16):
    %1 = arith.sitofp %in : i1 to bf16
    linalg.yield %1 : bf16
  } -> tensor<1024xbf16>
  return %0 : tensor<1024xbf16>
}
