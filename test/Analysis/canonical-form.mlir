// RUN: fastk-opt %s --fastk-canonicalize-workloads | FileCheck %s

// The bias is named before the matrices, the fill is a named op, the addition
// has its operands the other way round, and an operand is passed in vain: the
// canonical form has the matrices first, no named op and no spare operand.
// CHECK-LABEL: func.func @matmul_bias
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: tensor<8xf32>, %[[A:[a-z0-9]+]]: tensor<4x16xf32>, %[[B:[a-z0-9]+]]: tensor<16x8xf32>
func.func @matmul_bias(%bias: tensor<8xf32>, %a: tensor<4x16xf32>, %b: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // CHECK:      fastk.workload "matmul_bias"(%[[A]], %[[B]], %[[BIAS]]) {fastk.key = "{{[0-9a-f]+}}"}
  // CHECK-NEXT: ^bb0(%[[PA:.*]]: tensor<4x16xf32>, %[[PB:.*]]: tensor<16x8xf32>, %[[PBIAS:.*]]: tensor<8xf32>):
  // CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT:   %[[EMPTY:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK-NEXT:   %[[FILL:.*]] = linalg.generic {{.*}} outs(%[[EMPTY]] : tensor<4x8xf32>) {
  // CHECK-NEXT:   ^bb0(%{{.*}}: f32):
  // CHECK-NEXT:     linalg.yield %[[ZERO]] : f32
  // CHECK-NEXT:   } -> tensor<4x8xf32>
  // CHECK-NEXT:   %[[PRODUCT:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[PA]], %[[PB]] : tensor<4x16xf32>, tensor<16x8xf32>) outs(%[[FILL]] : tensor<4x8xf32>) {
  // CHECK-NEXT:   ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[ACC:.*]]: f32):
  // CHECK-NEXT:     %[[M:.*]] = arith.mulf %[[X]], %[[Y]] : f32
  // CHECK-NEXT:     %[[S:.*]] = arith.addf %[[M]], %[[ACC]] : f32
  // CHECK-NEXT:     linalg.yield %[[S]] : f32
  // CHECK-NEXT:   } -> tensor<4x8xf32>
  // CHECK-NEXT:   %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]], %[[PBIAS]] : tensor<4x8xf32>, tensor<8xf32>) outs(%[[EMPTY]] : tensor<4x8xf32>) {
  // CHECK-NEXT:   ^bb0(%[[P:.*]]: f32, %[[Q:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT:     %[[R:.*]] = arith.addf %[[P]], %[[Q]] : f32
  // CHECK-NEXT:     linalg.yield %[[R]] : f32
  // CHECK-NEXT:   } -> tensor<4x8xf32>
  // CHECK-NEXT:   fastk.yield %[[SUM]] : tensor<4x8xf32>
  // CHECK-NEXT: }
  %r = fastk.workload "matmul_bias"(%bias, %a, %b, %a) : (tensor<8xf32>, tensor<4x16xf32>, tensor<16x8xf32>, tensor<4x16xf32>) -> tensor<4x8xf32> {
  ^bb0(%pbias: tensor<8xf32>, %pa: tensor<4x16xf32>, %pb: tensor<16x8xf32>, %spare: tensor<4x16xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %zero = arith.constant 0.0 : f32
    %fill = linalg.fill {test.note = "dropped"} ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %product = linalg.matmul ins(%pa, %pb : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fill : tensor<4x8xf32>) -> tensor<4x8xf32>
    %sum = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%pbias, %product : tensor<8xf32>, tensor<4x8xf32>) outs(%fill : tensor<4x8xf32>) {
    ^bb0(%q: f32, %p: f32, %o: f32):
      %v = arith.addf %q, %p : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    fastk.yield %sum : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// linalg.softmax is taken apart; its parts are generics too.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK:     fastk.workload "softmax"
  // CHECK-NOT: linalg.softmax
  // CHECK-NOT: linalg.fill
  // CHECK:     arith.maxnumf
  // CHECK:     math.exp
  // CHECK:     arith.addf
  // CHECK:     arith.divf
  // CHECK:     fastk.yield
  %r = fastk.workload "softmax"(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x16xf32>):
    %e = tensor.empty() : tensor<4x16xf32>
    %s = linalg.softmax dimension(1) ins(%a : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
    fastk.yield %s : tensor<4x16xf32>
  }
  return %r : tensor<4x16xf32>
}

// The results come in the order of their depth, and users follow.
// CHECK-LABEL: func.func @results
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[R:.*]]:2 = fastk.workload "results"
  // CHECK: return %[[R]]#1, %[[R]]#0
  %r:2 = fastk.workload "results"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.sqrt ins(%0 : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// The index of an argmax that nobody asks for is not computed.
// CHECK-LABEL: func.func @dead_argmax
func.func @dead_argmax(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  // CHECK:     fastk.workload "max"
  // CHECK-NOT: linalg.index
  // CHECK-NOT: i64
  // CHECK:     fastk.yield
  %r = fastk.workload "max"(%x) : (tensor<4x16xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x16xf32>):
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0 : i64
    %e = tensor.empty() : tensor<4xf32>
    %ei = tensor.empty() : tensor<4xi64>
    %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %fi = linalg.fill ins(%zero : i64) outs(%ei : tensor<4xi64>) -> tensor<4xi64>
    %m:2 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<4x16xf32>) outs(%f, %fi : tensor<4xf32>, tensor<4xi64>) {
    ^bb0(%in: f32, %max: f32, %arg: i64):
      %i = linalg.index 1 : index
      %i64 = arith.index_cast %i : index to i64
      %v = arith.maximumf %in, %max : f32
      %gt = arith.cmpf ogt, %in, %max : f32
      %w = arith.select %gt, %i64, %arg : i64
      linalg.yield %v, %w : f32, i64
    } -> (tensor<4xf32>, tensor<4xi64>)
    fastk.yield %m#0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
