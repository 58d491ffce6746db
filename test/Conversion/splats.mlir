// A constant of a single value is written from that value: as data, 1048576 ones would be 4 MiB of a library, and four
// times as much text for the assembler of a GPU.

// DEFINE: %{small} = python3 -c 'import os, sys; size = os.path.getsize(sys.argv[1]); assert size < 200000, size'
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm -o - | FileCheck %s
// CHECK-NOT: 1024 x float
// CHECK-NOT: 1048576 x
// CHECK: define {{.*}}@returned
// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/model.so && %{small} %t/model.so
// RUN: fastk-opt %s --bank=%t/bank --target=cuda:sm_90a --emit=so -o %t/gpu.so && %{small} %t/gpu.so

// All give the same as before.
// RUN: fastk-run %s --entry=returned --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --entry=inserted --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --entry=joined --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --entry=added_to --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --entry=copied --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --entry=scattered --bank=%t/bank --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}check: result 0: {{.*}}: ok{{$}}

// The oracle fills as well: the bits that come out are looked at. (The NaN has a payload.)
// RUN: fastk-run %s --entry=kinds --bank=%t/bank --outputs=%t/out
// RUN: python3 %S/Inputs/one_value.py %t/out/out1.npy 0000c03f
// RUN: python3 %S/Inputs/one_value.py %t/out/out2.npy 01
// RUN: python3 %S/Inputs/one_value.py %t/out/out3.npy 0000004000004040
// RUN: python3 %S/Inputs/one_value.py %t/out/out4.npy f9ffffffffffffff
// RUN: python3 %S/Inputs/one_value.py %t/out/out5.npy 0034
// RUN: python3 %S/Inputs/one_value.py %t/out/out6.npy 00000080
// RUN: python3 %S/Inputs/one_value.py %t/out/out7.npy 0100c07f

func.func @kinds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<1024xf32>, tensor<1024xi1>, tensor<1024xcomplex<f32>>, tensor<1024xi64>, tensor<1024xf16>, tensor<1024xf32>, tensor<1024xf32>) {
  %f32 = arith.constant dense<1.5> : tensor<1024xf32>
  %i1 = arith.constant dense<true> : tensor<1024xi1>
  %complex = arith.constant dense<(2.0, 3.0)> : tensor<1024xcomplex<f32>>
  %i64 = arith.constant dense<-7> : tensor<1024xi64>
  %f16 = arith.constant dense<0.25> : tensor<1024xf16>
  %zero = arith.constant dense<-0.0> : tensor<1024xf32>
  %nan = arith.constant dense<0x7FC00001> : tensor<1024xf32>
  return %x, %f32, %i1, %complex, %i64, %f16, %zero, %nan : tensor<4xf32>, tensor<1024xf32>, tensor<1024xi1>, tensor<1024xcomplex<f32>>, tensor<1024xi64>, tensor<1024xf16>, tensor<1024xf32>, tensor<1024xf32>
}

func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<1024x1024xf32>, tensor<1024x1024xi1>, tensor<1024x1024xcomplex<f32>>) {
  %ones = arith.constant dense<1.0> : tensor<1024x1024xf32>
  %true = arith.constant dense<true> : tensor<1024x1024xi1>
  %i = arith.constant dense<(0.0, 1.0)> : tensor<1024x1024xcomplex<f32>>
  return %x, %ones, %true, %i : tensor<4xf32>, tensor<1024x1024xf32>, tensor<1024x1024xi1>, tensor<1024x1024xcomplex<f32>>
}

func.func @inserted(%x: tensor<8x8xf32>) -> tensor<1024x1024xf32> {
  %ones = arith.constant dense<1.0> : tensor<1024x1024xf32>
  %r = tensor.insert_slice %x into %ones[4, 4] [8, 8] [1, 1] : tensor<8x8xf32> into tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

func.func @joined(%x: tensor<1024x1024xf32>) -> tensor<2048x1024xf32> {
  %ones = arith.constant dense<1.0> : tensor<1024x1024xf32>
  %r = tensor.concat dim(0) %x, %ones : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32>
}

func.func @added_to(%x: tensor<1024x64xf32>, %y: tensor<64x1024xf32>) -> tensor<1024x1024xf32> {
  %ones = arith.constant dense<1.0> : tensor<1024x1024xf32>
  %r = linalg.matmul ins(%x, %y : tensor<1024x64xf32>, tensor<64x1024xf32>) outs(%ones : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

func.func @copied(%x: tensor<4xf32>) -> tensor<1024x1024xi64> {
  %sevens = arith.constant dense<7> : tensor<1024x1024xi64>
  %e = tensor.empty() : tensor<1024x1024xi64>
  %r = linalg.copy ins(%sevens : tensor<1024x1024xi64>) outs(%e : tensor<1024x1024xi64>) -> tensor<1024x1024xi64>
  return %r : tensor<1024x1024xi64>
}

func.func @scattered(%x: tensor<64xf32>, %at: tensor<64x1xi32>) -> tensor<1048576xf32> {
  %ones = arith.constant dense<1.0> : tensor<1048576xf32>
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
      ins(%x, %at : tensor<64xf32>, tensor<64x1xi32>) outs(%ones : tensor<1048576xf32>) {
  ^bb0(%new: f32, %old: f32):
    %sum = arith.addf %new, %old : f32
    tm_tensor.yield %sum : f32
  } -> tensor<1048576xf32>
  return %r : tensor<1048576xf32>
}
