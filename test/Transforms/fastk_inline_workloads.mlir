// Dissolving workloads gives back what formation was given. The proof: a caller
// of the model and of the model formed and dissolved, both inlined; merging
// equal ops leaves one computation, whose result is returned twice.

// RUN: fastk-opt %s --fastk-inline-workloads | FileCheck %s

// RUN: sed -n -e 's|^// transformer: ||p' %s > %t.main
// RUN: fastk-opt %golden/transformer_block_small.mlir --verify-each --mlir-print-local-scope | sed -e '/^module/d' -e '/^}/d' > %t.model
// RUN: fastk-opt %golden/transformer_block_small.mlir --mlir-print-local-scope --fastk-form-workloads --fastk-inline-workloads | sed -e '/^module/d' -e '/^}/d' -e 's/@forward/@dissolved/' > %t.greedy
// RUN: cat %t.main %t.model %t.greedy | fastk-opt --inline --cse | FileCheck %s --check-prefix=SAME
// RUN: fastk-opt %golden/transformer_block_small.mlir --mlir-print-local-scope --fastk-form-workloads=fusion=op --fastk-inline-workloads | sed -e '/^module/d' -e '/^}/d' -e 's/@forward/@dissolved/' > %t.op
// RUN: cat %t.main %t.model %t.op | fastk-opt --inline --cse | FileCheck %s --check-prefix=SAME
// RUN: fastk-opt %golden/transformer_block_small.mlir --mlir-print-local-scope --fastk-form-workloads=fusion=whole --fastk-inline-workloads | sed -e '/^module/d' -e '/^}/d' -e 's/@forward/@dissolved/' > %t.whole
// RUN: cat %t.main %t.model %t.whole | fastk-opt --inline --cse | FileCheck %s --check-prefix=SAME
// RUN: sed -n -e 's|^// attention: ||p' %s > %t.main
// RUN: fastk-opt %golden/attention_causal_f16_small.mlir --verify-each --mlir-print-local-scope | sed -e '/^module/d' -e '/^}/d' > %t.model
// RUN: fastk-opt %golden/attention_causal_f16_small.mlir --mlir-print-local-scope --fastk-form-workloads --fastk-inline-workloads | sed -e '/^module/d' -e '/^}/d' -e 's/@forward/@dissolved/' > %t.greedy
// RUN: cat %t.main %t.model %t.greedy | fastk-opt --inline --cse | FileCheck %s --check-prefix=SAME
// One changed constant is seen: the check can fail.
// RUN: sed -e 's/0.20412414523193154/0.25/' %t.greedy > %t.changed
// RUN: cat %t.main %t.model %t.changed | fastk-opt --inline --cse | FileCheck %s --check-prefix=DIFFERENT

// SAME-LABEL: func.func @main
// SAME: return %[[R:[0-9]+]], %[[R]] :
// DIFFERENT-LABEL: func.func @main
// DIFFERENT: return %[[R:[0-9]+]], %
// DIFFERENT-NOT: {{^}}[[R]] :
// attention: func.func @main(%q: tensor<2x3x40x24xf16>, %k: tensor<2x3x40x24xf16>, %v: tensor<2x3x40x24xf16>) -> (tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>) {
// attention: %a = call @forward(%q, %k, %v) : (tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>) -> tensor<2x3x40x24xf16>
// attention: %b = call @dissolved(%q, %k, %v) : (tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>) -> tensor<2x3x40x24xf16>
// attention: return %a, %b : tensor<2x3x40x24xf16>, tensor<2x3x40x24xf16>
// attention: }
// transformer: func.func @main(%0: tensor<24xf32>, %1: tensor<24xf32>, %2: tensor<72x24xf32>, %3: tensor<72xf32>, %4: tensor<24x24xf32>, %5: tensor<24xf32>, %6: tensor<24xf32>, %7: tensor<24xf32>, %8: tensor<96x24xf32>, %9: tensor<96xf32>, %10: tensor<24x96xf32>, %11: tensor<24xf32>, %12: tensor<2x10x24xf32>) -> (tensor<2x10x24xf32>, tensor<2x10x24xf32>) {
// transformer: %a = call @forward(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12) : (tensor<24xf32>, tensor<24xf32>, tensor<72x24xf32>, tensor<72xf32>, tensor<24x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<96x24xf32>, tensor<96xf32>, tensor<24x96xf32>, tensor<24xf32>, tensor<2x10x24xf32>) -> tensor<2x10x24xf32>
// transformer: %b = call @dissolved(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12) : (tensor<24xf32>, tensor<24xf32>, tensor<72x24xf32>, tensor<72xf32>, tensor<24x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<96x24xf32>, tensor<96xf32>, tensor<24x96xf32>, tensor<24xf32>, tensor<2x10x24xf32>) -> tensor<2x10x24xf32>
// transformer: return %a, %b : tensor<2x10x24xf32>, tensor<2x10x24xf32>
// transformer: }

// Two workloads in a row, one with two results and one in a branch.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: fastk
// CHECK: %[[A:.*]] = linalg.exp ins(%arg1
// CHECK: %[[B:.*]] = scf.if
// CHECK:   %[[C:.*]] = linalg.abs ins(%[[A]]
// CHECK:   scf.yield %[[C]]
// CHECK: return %[[A]], %[[B]]
// CHECK-NOT: fastk
func.func @nested(%p: i1, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w:2 = fastk.workload "elementwise"(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%arg: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %a = linalg.exp ins(%arg : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    fastk.yield %a, %arg : tensor<8xf32>, tensor<8xf32>
  }
  %b = scf.if %p -> (tensor<8xf32>) {
    %v = fastk.workload "elementwise"(%w#0) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%arg: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %a = linalg.abs ins(%arg : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      fastk.yield %a : tensor<8xf32>
    }
    scf.yield %v : tensor<8xf32>
  } else {
    scf.yield %w#1 : tensor<8xf32>
  }
  return %w#0, %b : tensor<8xf32>, tensor<8xf32>
}
