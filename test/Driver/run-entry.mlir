// Only the function that runs is compiled: winners are looked for and counted for it alone.
// RUN: mkdir -p %t/bank
// RUN: fastk-run %s --entry=small --bank=%t/bank --check 2>&1 | FileCheck %s
// CHECK: fastk-run: 1 workload: 0 hits, 1 miss, 0 stale
// CHECK: check: result 0: {{.*}}: ok

// By a name that no function has, both are named.
// RUN: not fastk-run %s --entry=smal --bank=%t/bank 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: large
// NONE-SAME: small

func.func @small(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %r = linalg.exp ins(%x : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

func.func @large(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %e = tensor.empty() : tensor<16x32xf32>
  %r = linalg.log ins(%x : tensor<16x32xf32>) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
