// Queries and keys of two products that are turned by angles, as in a Llama, and attention over them: of x and the weights' rows
// q' = q cos + (-q_high, q_low) sin. The sines are a result, too.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @forward(%arg0: tensor<128x128xf16>, %arg1: tensor<128x128xf16>, %arg2: tensor<2x64x128xf16>, %arg3: tensor<2x2x64x64xf16>, %arg4: tensor<64x64xf32>) -> (tensor<2x2x64x64xf16>, tensor<64x64xf16>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 1.250000e-01 : f32
    %0 = tensor.empty() : tensor<64x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg4 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.cos %in : f32
      linalg.yield %46 : f32
    } -> tensor<64x64xf32>
    %2 = tensor.empty() : tensor<64x64xf16>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<64x64xf32>) outs(%2 : tensor<64x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<64x64xf16>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg4 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.sin %in : f32
      linalg.yield %46 : f32
    } -> tensor<64x64xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<64x64xf32>) outs(%2 : tensor<64x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<64x64xf16>
    %6 = tensor.empty() : tensor<128x128xf16>
    %transposed = linalg.transpose ins(%arg0 : tensor<128x128xf16>) outs(%6 : tensor<128x128xf16>) permutation = [1, 0] 
    %collapsed = tensor.collapse_shape %arg2 [[0, 1], [2]] : tensor<2x64x128xf16> into tensor<128x128xf16>
    %7 = tensor.empty() : tensor<128x128xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<128x128xf32>) -> tensor<128x128xf32>
    %9 = linalg.matmul ins(%collapsed, %transposed : tensor<128x128xf16>, tensor<128x128xf16>) outs(%8 : tensor<128x128xf32>) -> tensor<128x128xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<128x128xf32>) outs(%6 : tensor<128x128xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<128x128xf16>
    %expanded = tensor.expand_shape %10 [[0, 1], [2, 3]] output_shape [2, 64, 2, 64] : tensor<128x128xf16> into tensor<2x64x2x64xf16>
    %11 = tensor.empty() : tensor<2x2x64x64xf16>
    %transposed_2 = linalg.transpose ins(%expanded : tensor<2x64x2x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) permutation = [0, 2, 1, 3] 
    %transposed_3 = linalg.transpose ins(%arg1 : tensor<128x128xf16>) outs(%6 : tensor<128x128xf16>) permutation = [1, 0] 
    %12 = linalg.matmul ins(%collapsed, %transposed_3 : tensor<128x128xf16>, tensor<128x128xf16>) outs(%8 : tensor<128x128xf32>) -> tensor<128x128xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<128x128xf32>) outs(%6 : tensor<128x128xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<128x128xf16>
    %expanded_4 = tensor.expand_shape %13 [[0, 1], [2, 3]] output_shape [2, 64, 2, 64] : tensor<128x128xf16> into tensor<2x64x2x64xf16>
    %transposed_5 = linalg.transpose ins(%expanded_4 : tensor<2x64x2x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) permutation = [0, 2, 1, 3] 
    %14 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_2, %3 : tensor<2x2x64x64xf16>, tensor<64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.mulf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %extracted_slice = tensor.extract_slice %transposed_2[0, 0, 0, 32] [2, 2, 64, 32] [1, 1, 1, 1] : tensor<2x2x64x64xf16> to tensor<2x2x64x32xf16>
    %15 = tensor.empty() : tensor<2x2x64x32xf16>
    %16 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<2x2x64x32xf16>) outs(%15 : tensor<2x2x64x32xf16>) {
    ^bb0(%in: f16, %out: f16):
      %46 = arith.negf %in : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x32xf16>
    %extracted_slice_6 = tensor.extract_slice %transposed_2[0, 0, 0, 0] [2, 2, 64, 32] [1, 1, 1, 1] : tensor<2x2x64x64xf16> to tensor<2x2x64x32xf16>
    %concat = tensor.concat dim(3) %16, %extracted_slice_6 : (tensor<2x2x64x32xf16>, tensor<2x2x64x32xf16>) -> tensor<2x2x64x64xf16>
    %17 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %5 : tensor<2x2x64x64xf16>, tensor<64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.mulf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %18 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %17 : tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.addf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %19 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_5, %3 : tensor<2x2x64x64xf16>, tensor<64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.mulf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %extracted_slice_7 = tensor.extract_slice %transposed_5[0, 0, 0, 32] [2, 2, 64, 32] [1, 1, 1, 1] : tensor<2x2x64x64xf16> to tensor<2x2x64x32xf16>
    %20 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_7 : tensor<2x2x64x32xf16>) outs(%15 : tensor<2x2x64x32xf16>) {
    ^bb0(%in: f16, %out: f16):
      %46 = arith.negf %in : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x32xf16>
    %extracted_slice_8 = tensor.extract_slice %transposed_5[0, 0, 0, 0] [2, 2, 64, 32] [1, 1, 1, 1] : tensor<2x2x64x64xf16> to tensor<2x2x64x32xf16>
    %concat_9 = tensor.concat dim(3) %20, %extracted_slice_8 : (tensor<2x2x64x32xf16>, tensor<2x2x64x32xf16>) -> tensor<2x2x64x64xf16>
    %21 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_9, %5 : tensor<2x2x64x64xf16>, tensor<64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.mulf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %22 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %21 : tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f16, %in_18: f16, %out: f16):
      %46 = arith.addf %in, %in_18 : f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %23 = tensor.empty() : tensor<2x2x64x64xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x2x64x64xf16>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f16, %out: f32):
      %46 = arith.extf %in : f16 to f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x2x64x64xf16>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f16, %out: f32):
      %46 = arith.extf %in : f16 to f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %26 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x2x64x64xf16>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f16, %out: f32):
      %46 = arith.extf %in : f16 to f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %transposed_10 = linalg.transpose ins(%25 : tensor<2x2x64x64xf32>) outs(%23 : tensor<2x2x64x64xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_11 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<2x2x64x64xf32> into tensor<4x64x64xf32>
    %collapsed_12 = tensor.collapse_shape %transposed_10 [[0, 1], [2], [3]] : tensor<2x2x64x64xf32> into tensor<4x64x64xf32>
    %27 = tensor.empty() : tensor<4x64x64xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %29 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<4x64x64xf32>, tensor<4x64x64xf32>) outs(%28 : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %expanded_13 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 2, 64, 64] : tensor<4x64x64xf32> into tensor<2x2x64x64xf32>
    %30 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13 : tensor<2x2x64x64xf32>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.mulf %in, %cst_1 : f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %31 = tensor.empty() : tensor<2x2x64xi64>
    %32 = linalg.fill ins(%c0_i64 : i64) outs(%31 : tensor<2x2x64xi64>) -> tensor<2x2x64xi64>
    %33 = tensor.empty() : tensor<2x2x64xf32>
    %34 = linalg.fill ins(%cst_0 : f32) outs(%33 : tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
    %35:2 = linalg.generic {indexing_maps = [#map1, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x2x64x64xf32>) outs(%34, %32 : tensor<2x2x64xf32>, tensor<2x2x64xi64>) {
    ^bb0(%in: f32, %out: f32, %out_18: i64):
      %46 = linalg.index 3 : index
      %47 = arith.index_cast %46 : index to i64
      %48 = arith.maximumf %in, %out : f32
      %49 = arith.cmpf ogt, %in, %out : f32
      %50 = arith.select %49, %47, %out_18 : i64
      linalg.yield %48, %50 : f32, i64
    } -> (tensor<2x2x64xf32>, tensor<2x2x64xi64>)
    %expanded_14 = tensor.expand_shape %35#0 [[0], [1], [2, 3]] output_shape [2, 2, 64, 1] : tensor<2x2x64xf32> into tensor<2x2x64x1xf32>
    %36 = linalg.generic {indexing_maps = [#map1, #map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %expanded_14 : tensor<2x2x64x64xf32>, tensor<2x2x64x1xf32>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %46 = arith.subf %in, %in_18 : f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %37 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x2x64x64xf32>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.exp %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %38 = tensor.empty() : tensor<2x2x64x1xf32>
    %39 = linalg.fill ins(%cst : f32) outs(%38 : tensor<2x2x64x1xf32>) -> tensor<2x2x64x1xf32>
    %40 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x2x64x64xf32>) outs(%39 : tensor<2x2x64x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.addf %in, %out : f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x1xf32>
    %41 = linalg.generic {indexing_maps = [#map1, #map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %40 : tensor<2x2x64x64xf32>, tensor<2x2x64x1xf32>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %46 = arith.divf %in, %in_18 : f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %42 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41 : tensor<2x2x64x64xf32>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    %43 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<2x2x64x64xf16>) outs(%23 : tensor<2x2x64x64xf32>) {
    ^bb0(%in: f16, %out: f32):
      %46 = arith.extf %in : f16 to f32
      linalg.yield %46 : f32
    } -> tensor<2x2x64x64xf32>
    %collapsed_15 = tensor.collapse_shape %43 [[0, 1], [2], [3]] : tensor<2x2x64x64xf32> into tensor<4x64x64xf32>
    %collapsed_16 = tensor.collapse_shape %26 [[0, 1], [2], [3]] : tensor<2x2x64x64xf32> into tensor<4x64x64xf32>
    %44 = linalg.batch_matmul ins(%collapsed_15, %collapsed_16 : tensor<4x64x64xf32>, tensor<4x64x64xf32>) outs(%28 : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %expanded_17 = tensor.expand_shape %44 [[0, 1], [2], [3]] output_shape [2, 2, 64, 64] : tensor<4x64x64xf32> into tensor<2x2x64x64xf32>
    %45 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17 : tensor<2x2x64x64xf32>) outs(%11 : tensor<2x2x64x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %46 = arith.truncf %in : f32 to f16
      linalg.yield %46 : f16
    } -> tensor<2x2x64x64xf16>
    return %45, %5 : tensor<2x2x64x64xf16>, tensor<64x64xf16>
  }
}
