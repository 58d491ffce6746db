// For a GPU the ops are refused where they stand.
// RUN: not fastk-opt %s --target=cuda:sm_90a --bank=%t --emit=obj -o %t.o 2>&1 | FileCheck %s
// CHECK: cuda.mlir:[[#@LINE+3]]:8: error: 'tm_tensor.sort' op is lowered for the host only: compile with --target=host, or keep this part of the model out (required by 'fastk.device_model')

func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = tm_tensor.sort dimension(0) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %s : i1
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
