// A transformer block is norm, linear, attention, linear with residual, norm,
// linear with GELU, linear with residual.

// RUN: fastk-opt %golden/transformer_block_small.mlir --fastk-form-workloads | FileCheck %s
// RUN: fastk-opt %golden/transformer_block_small.mlir --fastk-form-workloads | FileCheck %s --check-prefix=NAMES

// NAMES: fastk.workload "layer_norm"
// NAMES: fastk.workload "matmul_bias"
// NAMES: fastk.workload "attention_causal"
// NAMES: fastk.workload "matmul_bias_add"
// NAMES: fastk.workload "layer_norm"
// NAMES: fastk.workload "matmul_bias_gelu_tanh"
// NAMES: fastk.workload "matmul_bias_add"
// NAMES-NOT: fastk.workload

// The reshapes between workloads stay outside: they cost nothing and would only
// make keys differ.
// CHECK: func.func @forward
// CHECK-NEXT: %[[LN1:.*]] = fastk.workload {{.*}}(%arg12, %arg0, %arg1)
// CHECK-COUNT-2: "reduction"]
// CHECK-NOT: matmul
// CHECK: }
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[LN1]]
// CHECK-NEXT: %[[QKV:.*]] = fastk.workload {{.*}}(%[[ROWS]], %arg2, %arg3)
// CHECK: linalg.transpose
// CHECK: linalg.matmul
// CHECK: arith.addf
// CHECK: fastk.yield
// CHECK: %[[SEQ:.*]] = tensor.expand_shape %[[QKV]]
// CHECK-NEXT: %[[HEADS:.*]] = fastk.workload {{.*}}(%[[SEQ]]) : (tensor<2x10x72xf32>) -> tensor<2x10x3x8xf32>
// CHECK: linalg.batch_matmul
// CHECK: arith.cmpi sle
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: linalg.batch_matmul
// CHECK: linalg.transpose
// CHECK-NEXT: fastk.yield
// CHECK: %[[MERGED:.*]] = tensor.collapse_shape %[[HEADS]]
// CHECK-NEXT: %[[RES1:.*]] = fastk.workload {{.*}}(%[[MERGED]], %arg4, %arg5, %arg12)
// CHECK: linalg.matmul
// CHECK-COUNT-2: arith.addf
// CHECK: fastk.yield %{{.*}} : tensor<2x10x24xf32>
// CHECK: %[[LN2:.*]] = fastk.workload {{.*}}(%[[RES1]], %arg6, %arg7)
// CHECK-COUNT-2: "reduction"]
// CHECK: fastk.yield
// CHECK: %[[ROWS2:.*]] = tensor.collapse_shape %[[LN2]]
// CHECK-NEXT: %[[FC:.*]] = fastk.workload {{.*}}(%[[ROWS2]], %arg8, %arg9)
// CHECK: linalg.matmul
// CHECK: math.tanh
// CHECK: fastk.yield %{{.*}} : tensor<2x10x96xf32>
// CHECK: %[[ROWS3:.*]] = tensor.collapse_shape %[[FC]]
// CHECK-NEXT: %[[OUT:.*]] = fastk.workload {{.*}}(%[[ROWS3]], %arg10, %arg11, %[[RES1]])
// CHECK: linalg.matmul
// CHECK: fastk.yield
// CHECK-NEXT: }
// CHECK-NEXT: return %[[OUT]]
