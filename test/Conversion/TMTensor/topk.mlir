// The largest and the smallest k, with indices of their own or given ones; ties go to the first.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy | FileCheck %s

func.func @forward() -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2xi64>, tensor<2xi64>) {
  // CHECK: (2, 3) [7.0, 4.0, 4.0, 3.0, 2.0, 1.0]
  // CHECK: (2, 3) [3, 1, 4, 4, 3, 2]
  %x = arith.constant dense<[[1.0, 4.0, -2.0, 7.0, 4.0], [-1.0, 0.0, 1.0, 2.0, 3.0]]> : tensor<2x5xf32>
  %low = arith.constant dense<0xFF800000> : tensor<2x3xf32>
  %none = arith.constant dense<0> : tensor<2x3xi32>
  %largest:2 = tm_tensor.topk dimension(1) ins(%x : tensor<2x5xf32>) outs(%low, %none : tensor<2x3xf32>, tensor<2x3xi32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<2x3xf32>, tensor<2x3xi32>
  // CHECK: (2,) [-3, 2]
  // CHECK: (2,) [40, 10]
  %y = arith.constant dense<[9, 2, 5, 2, -3]> : tensor<5xi64>
  %names = arith.constant dense<[30, 10, 20, 50, 40]> : tensor<5xi64>
  %high = arith.constant dense<9223372036854775807> : tensor<2xi64>
  %unnamed = arith.constant dense<99> : tensor<2xi64>
  %smallest:2 = tm_tensor.topk dimension(0) ins(%y, %names : tensor<5xi64>, tensor<5xi64>) outs(%high, %unnamed : tensor<2xi64>, tensor<2xi64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.cmpi slt, %a, %b : i64
    tm_tensor.yield %s : i1
  } -> tensor<2xi64>, tensor<2xi64>
  return %largest#0, %largest#1, %smallest#0, %smallest#1 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2xi64>, tensor<2xi64>
}
