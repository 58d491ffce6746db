// A scan is part of a workload where that may be all of a function, and stays where it is otherwise.
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole | FileCheck %s --check-prefix=WHOLE
// RUN: fastk-opt %s --fastk-form-workloads=fusion=greedy | FileCheck %s --check-prefix=APART
// RUN: fastk-opt %s --fastk-form-workloads=fusion=op | FileCheck %s --check-prefix=APART

// WHOLE-LABEL: func.func @forward
// WHOLE: fastk.workload
// WHOLE: tm_tensor.scan
// WHOLE: arith.mulf
// WHOLE: fastk.yield
// WHOLE-NOT: tm_tensor.scan

// APART-LABEL: func.func @forward
// APART: fastk.workload "exp"
// APART: {{^    %[0-9:]+}} = tm_tensor.scan
// APART: fastk.workload
// APART: arith.mulf
func.func @forward(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %n = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%y#0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}
