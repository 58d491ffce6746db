// Every element type goes in and comes out, also of rank 0 and without elements.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy %t/out4.npy %t/out5.npy %t/out6.npy | FileCheck %s
// RUN: fastk-run %s --bank=%t/bank --inputs=%t/out0.npy,%t/out1.npy,%t/out2.npy,%t/out3.npy,%t/out4.npy,%t/out5.npy,%t/out6.npy --outputs=%t/again
// RUN: python3 %S/../../Inputs/print_npy.py %t/again/out0.npy %t/again/out4.npy | FileCheck %s --check-prefix=AGAIN
// RUN: fastk-run %s --bank=%t/bank --entry=forward --check | FileCheck %s --check-prefix=CHECKED
// CHECKED-COUNT-7: check: result {{[0-6]}}: {{.*}}: ok

// CHECK: (2,) [{{-?[0-9]+}}, {{-?[0-9]+}}]
// CHECK: (2,) [{{True|False}}, {{True|False}}]
// CHECK: () [{{-?[0-9]+}}]
// CHECK: (2,) [{{.*j\)}}, {{.*j\)}}]
// CHECK: (2,) [{{.*j\)}}, {{.*j\)}}]
// CHECK: () [{{.*[0-9]}}]
// CHECK: (0, 3) []
// AGAIN: (2,) [{{-?[0-9]+}}, {{-?[0-9]+}}]
// AGAIN: (2,) [{{.*j\)}}, {{.*j\)}}]

func.func @forward(%a: tensor<2xi16>, %b: tensor<2xi1>, %c: tensor<i8>, %d: tensor<2xcomplex<f32>>, %e: tensor<2xcomplex<f64>>, %f: tensor<bf16>, %g: tensor<0x3xf32>)
    -> (tensor<2xi16>, tensor<2xi1>, tensor<i8>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>, tensor<bf16>, tensor<0x3xf32>) {
  %ea = tensor.empty() : tensor<2xi16>
  %a2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<2xi16>) outs(%ea : tensor<2xi16>) {
  ^bb0(%x: i16, %o: i16):
    %y = arith.addi %x, %x : i16
    linalg.yield %y : i16
  } -> tensor<2xi16>
  %eb = tensor.empty() : tensor<2xi1>
  %b2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%b : tensor<2xi1>) outs(%eb : tensor<2xi1>) {
  ^bb0(%x: i1, %o: i1):
    %t = arith.constant true
    %y = arith.xori %x, %t : i1
    linalg.yield %y : i1
  } -> tensor<2xi1>
  %ec = tensor.empty() : tensor<i8>
  %c2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%c : tensor<i8>) outs(%ec : tensor<i8>) {
  ^bb0(%x: i8, %o: i8):
    %y = arith.muli %x, %x : i8
    linalg.yield %y : i8
  } -> tensor<i8>
  %ed = tensor.empty() : tensor<2xcomplex<f32>>
  %d2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%d : tensor<2xcomplex<f32>>) outs(%ed : tensor<2xcomplex<f32>>) {
  ^bb0(%x: complex<f32>, %o: complex<f32>):
    %i = complex.constant [0.5 : f32, 1.0 : f32] : complex<f32>
    %y = complex.mul %x, %i : complex<f32>
    linalg.yield %y : complex<f32>
  } -> tensor<2xcomplex<f32>>
  %ee = tensor.empty() : tensor<2xcomplex<f64>>
  %e2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%e : tensor<2xcomplex<f64>>) outs(%ee : tensor<2xcomplex<f64>>) {
  ^bb0(%x: complex<f64>, %o: complex<f64>):
    %y = complex.add %x, %x : complex<f64>
    linalg.yield %y : complex<f64>
  } -> tensor<2xcomplex<f64>>
  %ef = tensor.empty() : tensor<bf16>
  %f2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%f : tensor<bf16>) outs(%ef : tensor<bf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %y = arith.addf %x, %x : bf16
    linalg.yield %y : bf16
  } -> tensor<bf16>
  return %a2, %b2, %c2, %d2, %e2, %f2, %g : tensor<2xi16>, tensor<2xi1>, tensor<i8>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>, tensor<bf16>, tensor<0x3xf32>
}
