// Functions that a model calls become part of it before workloads are formed: one workload spans
// them, and private ones are gone.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/bank
// RUN: fastk-opt %t/nested.mlir --bank=%t/bank --emit=mlir 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED-NOT: private
// NESTED-LABEL: func.func @forward
// NESTED-NOT: call
// NESTED: linalg.exp
// NESTED: linalg.exp
// NESTED: linalg.add
// NESTED: fastk-opt: 1 workload: 0 hits, 1 miss, 0 stale

// It is compiled, and computes what it says.
// RUN: fastk-opt %t/nested.mlir --bank=%t/bank --emit=so -o %t/nested.so
// RUN: fastk-run %t/nested.mlir --bank=%t/bank --check | FileCheck %s --check-prefix=CHECKED
// CHECKED: check: result 0: {{.*}}: ok

// A public function that is called is a function of the library all the same.
// RUN: fastk-opt %t/public.mlir --bank=%t/bank --emit=so -o %t/public.so
// RUN: fastk-run %t/public.so --entry=first | FileCheck %s --check-prefix=RUNS
// RUN: fastk-run %t/public.so --entry=second | FileCheck %s --check-prefix=RUNS
// RUNS: result 0: 16x8xf32

// Recursion is refused, by itself or by others.
// RUN: not fastk-opt %t/self.mlir --bank=%t/bank 2>&1 | FileCheck %s --check-prefix=SELF
// SELF: self.mlir:1:1: error: calls itself, by itself or by others: fastk inlines every call; write the recursion as a loop or in full (required by 'fastk.calls')
// RUN: not fastk-run %t/others.mlir 2>&1 | FileCheck %s --check-prefix=OTHERS
// OTHERS: others.mlir:{{[15]}}:1: error: calls itself, by itself or by others

// What has no body here is left in a module, and refused where code is wanted.
// RUN: fastk-opt %t/external.mlir --bank=%t/bank | FileCheck %s --check-prefix=LEFT
// LEFT: call @elsewhere
// RUN: not fastk-opt %t/external.mlir --bank=%t/bank --emit=so -o %t/external.so 2>&1 | FileCheck %s --check-prefix=EXTERNAL
// EXTERNAL: external.mlir:1:1: error: has no body; fastk compiles whole models: add the function to the module (required by 'fastk.compile_model')
// RUN: not ls %t/external.so

//--- nested.mlir
func.func private @inner(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %m = linalg.exp ins(%a : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %m : tensor<16x8xf32>
}
func.func private @outer(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @inner(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}
func.func @forward(%a: tensor<16x8xf32>, %b: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @outer(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = call @inner(%b) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  %s = linalg.add ins(%x, %y : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}

//--- public.mlir
func.func @first(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %m = linalg.exp ins(%a : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %m : tensor<16x8xf32>
}
func.func @second(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @first(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = call @first(%x) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

//--- self.mlir
func.func @forward(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @forward(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}

//--- others.mlir
func.func private @even(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @odd(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}
func.func private @odd(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @even(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}
func.func @forward(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @even(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}

//--- external.mlir
func.func private @elsewhere(tensor<16x8xf32>) -> tensor<16x8xf32>
func.func @forward(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = call @elsewhere(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %x : tensor<16x8xf32>
}
