// A linear layer in f32: x W^T + b.
func.func @linear(%x: tensor<3072x2048xf32>, %w: tensor<2304x2048xf32>, %bias: tensor<2304xf32>) -> tensor<3072x2304xf32> {
  %c0 = arith.constant 0.0 : f32
  %i = tensor.empty() : tensor<3072x2304xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%i : tensor<3072x2304xf32>) -> tensor<3072x2304xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3072x2048xf32>, tensor<2304x2048xf32>) outs(%z : tensor<3072x2304xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<3072x2304xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%m, %bias : tensor<3072x2304xf32>, tensor<2304xf32>) outs(%i : tensor<3072x2304xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<3072x2304xf32>
  return %r : tensor<3072x2304xf32>
}
