// What fusion=op, greedy and whole make of two linears with activations.

// RUN: fastk-opt %s --fastk-form-workloads=fusion=op | FileCheck %s --check-prefix=OP
// RUN: fastk-opt %s --fastk-form-workloads=fusion=greedy | FileCheck %s --check-prefix=GREEDY
// RUN: fastk-opt %s --fastk-form-workloads | FileCheck %s --check-prefix=GREEDY
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole | FileCheck %s --check-prefix=WHOLE

// OP-LABEL: func.func @two_linears
// OP: %[[M0:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// OP:   tensor.empty
// OP:   linalg.fill
// OP:   linalg.matmul
// OP: %[[R0:.*]] = fastk.workload {{.*}}(%[[M0]])
// OP:   linalg.generic
// OP: %[[M1:.*]] = fastk.workload {{.*}}(%[[R0]], %arg2)
// OP:   linalg.fill
// OP:   linalg.matmul
// OP: %[[R1:.*]] = fastk.workload {{.*}}(%[[M1]])
// OP:   linalg.generic
// OP: return %[[R1]]

// GREEDY-LABEL: func.func @two_linears
// GREEDY: %[[R0:.*]] = fastk.workload {{.*}}(%arg0, %arg1) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
// GREEDY:   linalg.matmul
// GREEDY:   linalg.generic
// GREEDY: %[[R1:.*]] = fastk.workload {{.*}}(%[[R0]], %arg2)
// GREEDY:   linalg.matmul
// GREEDY:   linalg.generic
// GREEDY: return %[[R1]]

// WHOLE-LABEL: func.func @two_linears
// WHOLE-NEXT: %[[R:.*]] = fastk.workload {{.*}}(%arg0, %arg1, %arg2)
// WHOLE-COUNT-2: linalg.matmul
// WHOLE: return %[[R]]
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @two_linears(%x: tensor<8x16xf32>, %a: tensor<16x16xf32>,
                       %b: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  %2 = linalg.matmul ins(%1, %b : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}
