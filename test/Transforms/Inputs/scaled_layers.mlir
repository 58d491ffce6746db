// What is scaled by column, added to each layer of a tensor.
#planes = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#layers = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#plane = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @layers(%y: tensor<32x48xf32>, %s: tensor<48xf32>, %t: tensor<4x32x48xf32>) -> tensor<4x32x48xf32> {
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.generic {indexing_maps = [#planes, #columns, #planes], iterator_types = ["parallel", "parallel"]} ins(%y, %s : tensor<32x48xf32>, tensor<48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  %e1 = tensor.empty() : tensor<4x32x48xf32>
  %r = linalg.generic {indexing_maps = [#layers, #plane, #layers], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t, %z : tensor<4x32x48xf32>, tensor<32x48xf32>) outs(%e1 : tensor<4x32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x32x48xf32>
  return %r : tensor<4x32x48xf32>
}
