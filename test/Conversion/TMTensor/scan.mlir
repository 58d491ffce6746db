// Prefix sums along the last dimension, along another one, exclusive ones, of one long row that is
// cut into blocks, and of nothing.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t | FileCheck %s --allow-empty --check-prefix=NONE
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy %t/out4.npy %t/out5.npy %t/out6.npy %t/out7.npy %t/out8.npy | FileCheck %s
// NONE-NOT: {{.}}

// They are no part of a workload, and a remark says what becomes of them.
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm --remarks-filter=fastk -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-4: remark: [Passed] tm_tensor {{.*}}Reason="lowered to loops; no part of a workload", op=tm_tensor.scan
// The long row, and that alone, is worth several threads.
// RUN: FileCheck %s --check-prefix=PARALLEL < %t/out.ll
// PARALLEL-COUNT-2: @__kmpc_fork_call({{.*}}@fastk.model.forward..omp_par
// PARALLEL-NOT: @__kmpc_fork_call({{.*}}@fastk.model.forward..omp_par

#sum = affine_map<(d0) -> (d0)>
func.func @forward() -> (tensor<2x3xi64>, tensor<2xi64>, tensor<2x3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>, tensor<100000xi64>, tensor<i64>, tensor<0xi64>) {
  %x = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %ten = arith.constant dense<10> : tensor<i64>
  %e = tensor.empty() : tensor<2x3xi64>
  %a2 = tensor.empty() : tensor<2xi64>
  %a3 = tensor.empty() : tensor<3xi64>
  // CHECK: (2, 3) [1, 3, 6, 4, 9, 15]
  // CHECK: (2,) [6, 15]
  %last:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<2x3xi64>) outs(%e, %a2 : tensor<2x3xi64>, tensor<2xi64>) {
  ^bb0(%sum: i64, %in: i64):
    %s = arith.addi %sum, %in : i64
    tm_tensor.yield %s : i64
  } -> tensor<2x3xi64>, tensor<2xi64>
  // CHECK: (2, 3) [1, 2, 3, 4, 10, 18]
  // CHECK: (3,) [4, 10, 18]
  %first:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<2x3xi64>) outs(%e, %a3 : tensor<2x3xi64>, tensor<3xi64>) {
  ^bb0(%sum: i64, %in: i64):
    %s = arith.muli %sum, %in : i64
    tm_tensor.yield %s : i64
  } -> tensor<2x3xi64>, tensor<3xi64>
  // CHECK: (3,) [10, 7, 3]
  // CHECK: () [3]
  %y = arith.constant dense<[3, 4, 5]> : tensor<3xi64>
  %e3 = tensor.empty() : tensor<3xi64>
  %exclusive:2 = tm_tensor.scan dimension(0) inclusive(false) ins(%y : tensor<3xi64>) outs(%e3, %ten : tensor<3xi64>, tensor<i64>) {
  ^bb0(%sum: i64, %in: i64):
    %s = arith.subi %sum, %in : i64
    tm_tensor.yield %s : i64
  } -> tensor<3xi64>, tensor<i64>
  // CHECK: (100000,) [0, 1, 3, 6, 4999650006, 4999750003, 4999850001, 4999950000]
  // CHECK: () [4999950000]
  %long = tensor.empty() : tensor<100000xi64>
  %count = linalg.generic {indexing_maps = [#sum], iterator_types = ["parallel"]} outs(%long : tensor<100000xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<100000xi64>
  %blocks:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%count : tensor<100000xi64>) outs(%long, %ten : tensor<100000xi64>, tensor<i64>) {
  ^bb0(%sum: i64, %in: i64):
    %s = arith.addi %sum, %in : i64
    tm_tensor.yield %s : i64
  } -> tensor<100000xi64>, tensor<i64>
  // CHECK: (0,) []
  %nothing = tensor.empty() : tensor<0xi64>
  %none:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%nothing : tensor<0xi64>) outs(%nothing, %ten : tensor<0xi64>, tensor<i64>) {
  ^bb0(%sum: i64, %in: i64):
    %s = arith.addi %sum, %in : i64
    tm_tensor.yield %s : i64
  } -> tensor<0xi64>, tensor<i64>
  return %last#0, %last#1, %first#0, %first#1, %exclusive#0, %exclusive#1, %blocks#0, %blocks#1, %none#0 : tensor<2x3xi64>, tensor<2xi64>, tensor<2x3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>, tensor<100000xi64>, tensor<i64>, tensor<0xi64>
}
