// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=oracle --target=cuda:sm_90a -o %t/oracle
// RUN: FileCheck %s --input-file=%t/oracle/kernel.ptx
// RUN: FileCheck %s --check-prefix=SCALE --input-file=%t/oracle/kernel.ptx
// RUN: fastk-opt %t/low --compile-kernel=kernels --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --check-prefix=FLAGS --input-file=%t/out/kernels.mlir --implicit-check-not="subf {{.*}}contract"

// A product and the sum over loops that it is added to are rounded once. A product and what is taken from it are not:
// the largest of the same products would leave what its rounding lost, here up to 2^-53 * 10^38, and exp of it infinite.
// CHECK: .entry
// CHECK: fma.rn.f64
// SCALE: mul{{.*}}.f64 {{.*}}, 0d3FB6A09E60000000
// SCALE-NOT: fma.rn.f64 {{.*}}, 0d3FB6A09E60000000
// SCALE: sub{{.*}}.f64
// FLAGS: llvm.intr.fma
#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#a = affine_map<(r, c, k) -> (r, k)>
#b = affine_map<(r, c, k) -> (k, c)>
#sum = affine_map<(r, c, k) -> (r, c)>
func.func @scores(%q: tensor<16x32xf32>, %k: tensor<32x40xf32>) -> tensor<16x40xf32> {
  %scale = arith.constant 0.0883883461 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x40xf32>
  %er = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x40xf32>) -> tensor<16x40xf32>
  %x = linalg.generic {indexing_maps = [#a, #b, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<16x32xf32>, tensor<32x40xf32>) outs(%z : tensor<16x40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %p = arith.addf %o, %m : f32
    linalg.yield %p : f32
  } -> tensor<16x40xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x40xf32>) outs(%e : tensor<16x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %scale : f32
    linalg.yield %m : f32
  } -> tensor<16x40xf32>
  %i0 = linalg.fill ins(%ninf : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %most = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x40xf32>) outs(%i0 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<16xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %most : tensor<16x40xf32>, tensor<16xf32>) outs(%e : tensor<16x40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<16x40xf32>
  return %p : tensor<16x40xf32>
}
