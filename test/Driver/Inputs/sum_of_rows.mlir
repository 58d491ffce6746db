func.func @f(%table: tensor<100x64xf32>, %ids: tensor<32xi64>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<32xi64>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%i: i64, %o: f32):
    %p = arith.index_cast %i : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%p, %j] : tensor<100x64xf32>
    linalg.yield %x : f32
  } -> tensor<32x64xf32>
  %s = tensor.empty() : tensor<32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.reduce ins(%rows : tensor<32x64xf32>) outs(%f : tensor<32xf32>) dimensions = [1]
    (%u: f32, %v: f32) {
      %w = arith.addf %u, %v : f32
      linalg.yield %w : f32
    }
  return %sum : tensor<32xf32>
}
