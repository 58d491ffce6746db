// The region of model.mlir twice, and one of another shape.
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @forward(%a: tensor<192x192xi32>, %b: tensor<192x192xi32>, %bias: tensor<192xi32>,
                   %small: tensor<64x64xi32>, %smallBias: tensor<64xi32>)
    -> (tensor<192x192xi32>, tensor<64x64xi32>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<192x192xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<192x192xi32>) -> tensor<192x192xi32>
  %product = linalg.matmul ins(%a, %b : tensor<192x192xi32>, tensor<192x192xi32>) outs(%init : tensor<192x192xi32>) -> tensor<192x192xi32>
  %sum = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<192x192xi32>, tensor<192xi32>) outs(%empty : tensor<192x192xi32>) {
  ^bb0(%p: i32, %c: i32, %out: i32):
    %s = arith.addi %p, %c : i32
    linalg.yield %s : i32
  } -> tensor<192x192xi32>
  %product2 = linalg.matmul ins(%sum, %b : tensor<192x192xi32>, tensor<192x192xi32>) outs(%init : tensor<192x192xi32>) -> tensor<192x192xi32>
  %sum2 = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%product2, %bias : tensor<192x192xi32>, tensor<192xi32>) outs(%empty : tensor<192x192xi32>) {
  ^bb0(%p: i32, %c: i32, %out: i32):
    %s = arith.addi %p, %c : i32
    linalg.yield %s : i32
  } -> tensor<192x192xi32>
  %emptySmall = tensor.empty() : tensor<64x64xi32>
  %initSmall = linalg.fill ins(%zero : i32) outs(%emptySmall : tensor<64x64xi32>) -> tensor<64x64xi32>
  %product3 = linalg.matmul ins(%small, %small : tensor<64x64xi32>, tensor<64x64xi32>) outs(%initSmall : tensor<64x64xi32>) -> tensor<64x64xi32>
  %sum3 = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%product3, %smallBias : tensor<64x64xi32>, tensor<64xi32>) outs(%emptySmall : tensor<64x64xi32>) {
  ^bb0(%p: i32, %c: i32, %out: i32):
    %s = arith.addi %p, %c : i32
    linalg.yield %s : i32
  } -> tensor<64x64xi32>
  return %sum2, %sum3 : tensor<192x192xi32>, tensor<64x64xi32>
}
