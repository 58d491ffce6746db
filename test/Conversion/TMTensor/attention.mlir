// A softmax of one query: weights by hand. Rows that are shut out are zero.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --entry=forward --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy %t/out3.npy | FileCheck %s
// RUN: fastk-run %s --bank=%t/bank --entry=random --check | FileCheck %s --check-prefix=RANDOM
// RANDOM: check: result 0: {{.*}}: ok
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm --remarks-filter=fastk -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Passed] tm_tensor {{.*}}Reason="lowered to linalg; no part of a workload", op=tm_tensor.attention

func.func @forward() -> (tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x2x1xf32>, tensor<1x1x1xf16>) {
  // Scores 0 and 2 ln 3 over the root of 4: weights 1/4 and 3/4.
  // CHECK: (1, 1, 1) [7.0{{.*}}]
  %q = arith.constant dense<[[[1.0, 0.0, 0.0, 0.0]]]> : tensor<1x1x4xf32>
  %k = arith.constant dense<[[[0.0, 0.0, 0.0, 0.0], [2.1972245773362196, 5.0, 5.0, 5.0]]]> : tensor<1x2x4xf32>
  %v = arith.constant dense<[[[4.0], [8.0]]]> : tensor<1x2x1xf32>
  %e = tensor.empty() : tensor<1x1x1xf32>
  %a = tm_tensor.attention ins(%q, %k, %v : tensor<1x1x4xf32>, tensor<1x2x4xf32>, tensor<1x2x1xf32>) outs(%e : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  // A scale of its own, and a mask that is added: both scores are 2 ln 3.
  // CHECK: (1, 1, 1) [6.0{{.*}}]
  %m = arith.constant dense<[[[2.1972245773362196, 0.0]]]> : tensor<1x1x2xf32>
  %b = tm_tensor.attention {scale = 1.0 : f64} ins(%q, %k, %v, %m : tensor<1x1x4xf32>, tensor<1x2x4xf32>, tensor<1x2x1xf32>, tensor<1x1x2xf32>) outs(%e : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  // A mask of truth values: the second key alone, and none.
  // CHECK: (1, 2, 1) [8.0, 0.0]
  %two = arith.constant dense<1.0> : tensor<1x2x4xf32>
  %which = arith.constant dense<[[[false, true], [false, false]]]> : tensor<1x2x2xi1>
  %e2 = tensor.empty() : tensor<1x2x1xf32>
  %c = tm_tensor.attention ins(%two, %k, %v, %which : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x1xf32>, tensor<1x2x2xi1>) outs(%e2 : tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  // Sums of the narrower types are in f32: 1/2048 of 2048 + 1 would be lost.
  // CHECK: (1, 1, 1) [2.0]
  %qh = arith.constant dense<0.0> : tensor<1x1x4xf16>
  %kh = arith.constant dense<0.0> : tensor<1x4096x4xf16>
  %vh = arith.constant dense<2.0> : tensor<1x4096x1xf16>
  %eh = tensor.empty() : tensor<1x1x1xf16>
  %d = tm_tensor.attention ins(%qh, %kh, %vh : tensor<1x1x4xf16>, tensor<1x4096x4xf16>, tensor<1x4096x1xf16>) outs(%eh : tensor<1x1x1xf16>) -> tensor<1x1x1xf16>
  return %a, %b, %c, %d : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x2x1xf32>, tensor<1x1x1xf16>
}

func.func @random(%q: tensor<3x20x16xf32>, %k: tensor<3x30x16xf32>, %v: tensor<3x30x8xf32>) -> tensor<3x20x8xf32> {
  %e = tensor.empty() : tensor<3x20x8xf32>
  %a = tm_tensor.attention ins(%q, %k, %v : tensor<3x20x16xf32>, tensor<3x30x16xf32>, tensor<3x30x8xf32>) outs(%e : tensor<3x20x8xf32>) -> tensor<3x20x8xf32>
  return %a : tensor<3x20x8xf32>
}
