// REQUIRES: libdevice
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole --fastk-lower-workloads -o %t/low
// RUN: fastk-opt %t/low --compile-kernel=kernels --target=cuda:sm_90a -o %t/out
// RUN: FileCheck %s --input-file=%t/out/kernels.mlir --implicit-check-not=powi

// torch's x**2 and x**3 have exponents of 64 bits. libdevice's power takes 32: handed 64, or 8 and 16 that are not
// extended by their sign, it computes with whatever is there. So no power with an integer exponent gets that far.
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK-COUNT-3: math.powf {{.*}} : f64

// The oracle is no product of the same kind.
// RUN: fastk-opt %t/low --compile-kernel=oracle --target=cuda:sm_90a -o %t/oracle
// RUN: FileCheck %s --check-prefix=ORACLE --input-file=%t/oracle/kernel.ptx
// ORACLE: .entry
// ORACLE: fma.rn.f64
#map = affine_map<(d0) -> (d0)>
func.func @powers(%x: tensor<1024xf32>, %m: tensor<1024xi64>, %n: tensor<1024xi16>, %k: tensor<1024xi8>)
    -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %e = tensor.empty() : tensor<1024xf32>
  %r:5 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel"]}
      ins(%x, %m, %n, %k : tensor<1024xf32>, tensor<1024xi64>, tensor<1024xi16>, tensor<1024xi8>)
      outs(%e, %e, %e, %e, %e : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
  ^bb0(%in: f32, %i: i64, %j: i16, %h: i8, %o0: f32, %o1: f32, %o2: f32, %o3: f32, %o4: f32):
    %0 = math.fpowi %in, %two : f32, i64
    %1 = math.fpowi %in, %three : f32, i64
    %2 = math.fpowi %in, %i : f32, i64
    %3 = math.fpowi %in, %j : f32, i16
    %4 = math.fpowi %in, %h : f32, i8
    linalg.yield %0, %1, %2, %3, %4 : f32, f32, f32, f32, f32
  } -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
}
