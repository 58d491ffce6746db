// scf.while, scf.for and scf.if on tensors, with buffers that leave their block.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy | FileCheck %s
// CHECK: (3,) [64.0, 64.0, 64.0]
// CHECK: (2,) [2.0, 1.0]
// CHECK: (2,) [1.0, 2.0]
// CHECK: () [4]

#id = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (2 - i)>
func.func @forward() -> (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  // Each step reads the last one in another order: it must not be overwritten.
  %x = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %w:2 = scf.while (%i = %c0, %t = %x) : (index, tensor<3xf32>) -> (index, tensor<3xf32>) {
    %more = arith.cmpi slt, %i, %c5 : index
    scf.condition(%more) %i, %t : index, tensor<3xf32>
  } do {
  ^bb0(%i: index, %t: tensor<3xf32>):
    %n = arith.addi %i, %c1 : index
    %e = tensor.empty() : tensor<3xf32>
    %s = linalg.generic {indexing_maps = [#id, #back, #id], iterator_types = ["parallel"]} ins(%t, %t : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.addf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<3xf32>
    scf.yield %n, %s : index, tensor<3xf32>
  }
  // Two that change places three times.
  %p = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %q = arith.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %z:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %p, %b = %q) -> (tensor<2xf32>, tensor<2xf32>) {
    scf.yield %b, %a : tensor<2xf32>, tensor<2xf32>
  }
  %k = arith.index_cast %w#0 : index to i64
  %three = arith.constant 3 : i64
  %big = arith.cmpi sgt, %k, %three : i64
  %f = scf.if %big -> tensor<i64> {
    %one = arith.constant 1 : i64
    %d = arith.subi %k, %one : i64
    %v = tensor.from_elements %d : tensor<i64>
    scf.yield %v : tensor<i64>
  } else {
    %v = tensor.from_elements %k : tensor<i64>
    scf.yield %v : tensor<i64>
  }
  return %w#1, %z#0, %z#1, %f : tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>
}
