// Sorts are stable and of any length; what is not ordered still ends.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy %t/out4.npy %t/out5.npy | FileCheck %s

func.func @forward() -> (tensor<2x7xi32>, tensor<2x7xi64>, tensor<3x2xf32>, tensor<1xf32>, tensor<0xf32>, tensor<3xf32>) {
  // CHECK: (2, 7) [1, 1, 2, 3, 3, 3, 9, -4, -4, 0, 0, 5, 6, 7]
  // CHECK: (2, 7) [1, 4, 5, 0, 2, 3, 6, 2, 6, 1, 5, 4, 3, 0]
  %x = arith.constant dense<[[3, 1, 3, 3, 1, 2, 9], [7, 0, -4, 6, 5, 0, -4]]> : tensor<2x7xi32>
  %i = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]]> : tensor<2x7xi64>
  %pair:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<2x7xi32>, tensor<2x7xi64>) {
  ^bb0(%a: i32, %b: i32, %c: i64, %d: i64):
    %s = arith.cmpi sle, %a, %b : i32
    tm_tensor.yield %s : i1
  } -> tensor<2x7xi32>, tensor<2x7xi64>
  // CHECK: (3, 2) [5.0, 6.0, 2.0, 4.0, 1.0, 3.0]
  %y = arith.constant dense<[[1.0, 6.0], [5.0, 3.0], [2.0, 4.0]]> : tensor<3x2xf32>
  %down = tm_tensor.sort dimension(0) outs(%y : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<3x2xf32>
  // CHECK: (1,) [4.0]
  %one = arith.constant dense<4.0> : tensor<1xf32>
  %single = tm_tensor.sort dimension(0) outs(%one : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<1xf32>
  // CHECK: (0,) []
  %nothing = tensor.empty() : tensor<0xf32>
  %none = tm_tensor.sort dimension(0) outs(%nothing : tensor<0xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<0xf32>
  // CHECK: (3,) [{{.*}}nan{{.*}}]
  %nan = arith.constant dense<[0x7FC00000, 1.0, 0.0]> : tensor<3xf32>
  %some = tm_tensor.sort dimension(0) outs(%nan : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<3xf32>
  return %pair#0, %pair#1, %down, %single, %none, %some : tensor<2x7xi32>, tensor<2x7xi64>, tensor<3x2xf32>, tensor<1xf32>, tensor<0xf32>, tensor<3xf32>
}
