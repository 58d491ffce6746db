// One op with two results: no core of families.
func.func @two(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e, %e : tensor<64x128xf32>, tensor<64x128xf32>) {
  ^bb0(%a: f32, %o0: f32, %o1: f32):
    %n = arith.negf %a : f32
    %t = math.tanh %a : f32
    linalg.yield %n, %t : f32, f32
  } -> (tensor<64x128xf32>, tensor<64x128xf32>)
  return %r#0, %r#1 : tensor<64x128xf32>, tensor<64x128xf32>
}
