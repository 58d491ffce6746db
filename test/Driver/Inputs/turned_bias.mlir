func.func @f(%x: tensor<19x29xf32>, %b: tensor<29xf32>) -> tensor<29x19xf32> {
  %e = tensor.empty() : tensor<29x19xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel","parallel"]} ins(%x, %b : tensor<19x29xf32>, tensor<29xf32>) outs(%e : tensor<29x19xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %v = arith.addf %a, %c : f32
    linalg.yield %v : f32
  } -> tensor<29x19xf32>
  return %r : tensor<29x19xf32>
}
