// Sequences of 10 batches, multiplied step by step: rows lie in another order than the result's.
func.func @f(%a: tensor<10x64x96xf32>, %b: tensor<96x128xf32>, %c: tensor<128xf32>) -> tensor<640x128xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<64x10x96xf32>
  %turned = linalg.transpose ins(%a : tensor<10x64x96xf32>) outs(%t : tensor<64x10x96xf32>) permutation = [1, 0, 2]
  %rows = tensor.collapse_shape %turned [[0, 1], [2]] : tensor<64x10x96xf32> into tensor<640x96xf32>
  %e = tensor.empty() : tensor<640x128xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<640x128xf32>) -> tensor<640x128xf32>
  %p = linalg.matmul ins(%rows, %b : tensor<640x96xf32>, tensor<96x128xf32>) outs(%z : tensor<640x128xf32>) -> tensor<640x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %c : tensor<640x128xf32>, tensor<128xf32>) outs(%e : tensor<640x128xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<640x128xf32>
  return %r : tensor<640x128xf32>
}
