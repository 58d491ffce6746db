func.func @forward(%u: tensor<500xf32>, %p: tensor<500x1xi64>, %t: tensor<40xf32>) -> tensor<40xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<500xf32>, tensor<500x1xi64>) outs(%t : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tm_tensor.yield %s : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
}
