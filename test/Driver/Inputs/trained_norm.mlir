// A batch norm that is trained: normalised pictures, and the mean and the variance that it keeps.
#x = affine_map<(n, c, y, x) -> (n, c, y, x)>
#c = affine_map<(n, c, y, x) -> (c)>
#own = affine_map<(c) -> (c)>
func.func @forward(%x: tensor<8x16x32x32xf32>, %kept_mean: tensor<16xf32>, %kept_variance: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<8x16x32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 8192.0 : f32
  %old = arith.constant 0.9 : f32
  %new = arith.constant 0.1 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<16xf32>
  %big = tensor.empty() : tensor<8x16x32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%x : tensor<8x16x32x32xf32>) outs(%z : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %mean = linalg.generic {indexing_maps = [#own, #own], iterator_types = ["parallel"]} ins(%sum : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.divf %in, %count : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %centred = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<8x16x32x32xf32>, tensor<16xf32>) outs(%big : tensor<8x16x32x32xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %0 = arith.subf %in, %m : f32
    linalg.yield %0 : f32
  } -> tensor<8x16x32x32xf32>
  %squares = linalg.generic {indexing_maps = [#x, #c], iterator_types = ["reduction", "parallel", "reduction", "reduction"]} ins(%centred : tensor<8x16x32x32xf32>) outs(%z : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  %variance = linalg.generic {indexing_maps = [#own, #own], iterator_types = ["parallel"]} ins(%squares : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.divf %in, %count : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %normal = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%centred, %variance : tensor<8x16x32x32xf32>, tensor<16xf32>) outs(%big : tensor<8x16x32x32xf32>) {
  ^bb0(%in: f32, %v: f32, %out: f32):
    %0 = arith.addf %v, %epsilon : f32
    %1 = math.rsqrt %0 : f32
    %2 = arith.mulf %in, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x16x32x32xf32>
  %next_mean = linalg.generic {indexing_maps = [#own, #own, #own], iterator_types = ["parallel"]} ins(%kept_mean, %mean : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %old : f32
    %1 = arith.mulf %b, %new : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  %next_variance = linalg.generic {indexing_maps = [#own, #own, #own], iterator_types = ["parallel"]} ins(%kept_variance, %variance : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %old : f32
    %1 = arith.mulf %b, %new : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %next_mean, %next_variance, %normal : tensor<16xf32>, tensor<16xf32>, tensor<8x16x32x32xf32>
}
