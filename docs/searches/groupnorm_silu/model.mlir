#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>
module {
  func.func @forward(%arg0: tensor<512xf32>, %arg1: tensor<512xf32>, %arg2: tensor<16x512x64x64xf32>) -> tensor<16x512x64x64xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 1.000000e-05 : f64
    %cst_2 = arith.constant 6.553600e+04 : f32
    %collapsed = tensor.collapse_shape %arg2 [[0], [1, 2, 3]] : tensor<16x512x64x64xf32> into tensor<16x2097152xf32>
    %expanded = tensor.expand_shape %collapsed [[0], [1, 2]] output_shape [16, 32, 65536] : tensor<16x2097152xf32> into tensor<16x32x65536xf32>
    %0 = tensor.empty() : tensor<16x32x1xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<16x32x1xf32>) -> tensor<16x32x1xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%expanded : tensor<16x32x65536xf32>) outs(%1 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.addf %in, %out : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x1xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<16x32x1xf32>) outs(%0 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.divf %in, %cst_2 : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x1xf32>
    %4 = tensor.empty() : tensor<16x32x65536xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %3 : tensor<16x32x65536xf32>, tensor<16x32x1xf32>) outs(%4 : tensor<16x32x65536xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.subf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x65536xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %5 : tensor<16x32x65536xf32>, tensor<16x32x65536xf32>) outs(%4 : tensor<16x32x65536xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.mulf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x65536xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%6 : tensor<16x32x65536xf32>) outs(%1 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.addf %in, %out : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x1xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7 : tensor<16x32x1xf32>) outs(%0 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.divf %in, %cst_2 : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x1xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<16x32x1xf32>) outs(%0 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.truncf %cst_1 : f64 to f32
      %18 = arith.addf %in, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<16x32x1xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9 : tensor<16x32x1xf32>) outs(%0 : tensor<16x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = math.rsqrt %in : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x1xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %10 : tensor<16x32x65536xf32>, tensor<16x32x1xf32>) outs(%4 : tensor<16x32x65536xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.mulf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x32x65536xf32>
    %collapsed_3 = tensor.collapse_shape %11 [[0], [1, 2]] : tensor<16x32x65536xf32> into tensor<16x2097152xf32>
    %expanded_4 = tensor.expand_shape %collapsed_3 [[0], [1, 2, 3]] output_shape [16, 512, 64, 64] : tensor<16x2097152xf32> into tensor<16x512x64x64xf32>
    %expanded_5 = tensor.expand_shape %arg0 [[0, 1, 2]] output_shape [512, 1, 1] : tensor<512xf32> into tensor<512x1x1xf32>
    %12 = tensor.empty() : tensor<16x512x64x64xf32>
    %13 = linalg.generic {indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %expanded_5 : tensor<16x512x64x64xf32>, tensor<512x1x1xf32>) outs(%12 : tensor<16x512x64x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.mulf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x512x64x64xf32>
    %expanded_6 = tensor.expand_shape %arg1 [[0, 1, 2]] output_shape [512, 1, 1] : tensor<512xf32> into tensor<512x1x1xf32>
    %14 = linalg.generic {indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %expanded_6 : tensor<16x512x64x64xf32>, tensor<512x1x1xf32>) outs(%12 : tensor<16x512x64x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.addf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x512x64x64xf32>
    %15 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<16x512x64x64xf32>) outs(%12 : tensor<16x512x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.negf %in : f32
      %18 = math.exp %17 : f32
      %19 = arith.addf %18, %cst_0 : f32
      %20 = arith.divf %cst_0, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<16x512x64x64xf32>
    %16 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %15 : tensor<16x512x64x64xf32>, tensor<16x512x64x64xf32>) outs(%12 : tensor<16x512x64x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %17 = arith.mulf %in, %in_7 : f32
      linalg.yield %17 : f32
    } -> tensor<16x512x64x64xf32>
    return %16 : tensor<16x512x64x64xf32>
  }
}
