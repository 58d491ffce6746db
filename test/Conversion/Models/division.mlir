// Integer divisions that the processor cannot do give a value, and do not end the process: as if the
// divisor were 1.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy %t/out4.npy | FileCheck %s
// CHECK: (3,) [7, -2147483648, 3]
// CHECK: (3,) [0, 0, 1]
// CHECK: (3,) [7, 0, 3]
// CHECK: (3,) [7, -2147483648, 3]
// CHECK: () [5]

#id = affine_map<(i) -> (i)>
func.func @forward() -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<i64>) {
  %a = arith.constant dense<[7, -2147483648, 7]> : tensor<3xi32>
  %b = arith.constant dense<[0, -1, 2]> : tensor<3xi32>
  %e = tensor.empty() : tensor<3xi32>
  %r:4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<3xi32>, tensor<3xi32>) outs(%e, %e, %e, %e : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) {
  ^bb0(%x: i32, %y: i32, %o0: i32, %o1: i32, %o2: i32, %o3: i32):
    %0 = arith.divsi %x, %y : i32
    %1 = arith.remsi %x, %y : i32
    %2 = arith.divui %x, %y : i32
    %3 = arith.floordivsi %x, %y : i32
    linalg.yield %0, %1, %2, %3 : i32, i32, i32, i32
  } -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>)
  // In the function itself.
  %five = arith.constant 5 : i64
  %c0 = arith.constant 0 : index
  %y0 = tensor.extract %b[%c0] : tensor<3xi32>
  %wide = arith.extsi %y0 : i32 to i64
  %q = arith.divsi %five, %wide : i64
  %s = tensor.from_elements %q : tensor<i64>
  return %r#0, %r#1, %r#2, %r#3, %s : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<i64>
}
