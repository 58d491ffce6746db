func.func @sixteen(%a: tensor<16x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<16x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<16x4096xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x4096xf16>, tensor<4096x4096xf16>) outs(%start : tensor<16x4096xf32>) {
  ^bb0(%l: f16, %r: f16, %s: f32):
    %l32 = arith.extf %l : f16 to f32
    %r32 = arith.extf %r : f16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<16x4096xf32>
  return %sum : tensor<16x4096xf32>
}

func.func @columns(%a: tensor<4096x1000xbf16>, %b: tensor<5x1000xbf16>) -> tensor<4096x5xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<4096x5xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<4096x5xf32>) -> tensor<4096x5xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4096x1000xbf16>, tensor<5x1000xbf16>) outs(%start : tensor<4096x5xf32>) {
  ^bb0(%l: bf16, %r: bf16, %s: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4096x5xf32>
  return %sum : tensor<4096x5xf32>
}

func.func @exact(%a: tensor<8x1000xf32>, %b: tensor<1000x2048xf32>) -> tensor<8x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<8x2048xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<8x2048xf32>) -> tensor<8x2048xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x1000xf32>, tensor<1000x2048xf32>) outs(%start : tensor<8x2048xf32>) {
  ^bb0(%l: f32, %r: f32, %s: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x2048xf32>
  return %sum : tensor<8x2048xf32>
}

func.func @many(%a: tensor<512x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<512x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<512x4096xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x4096xf16>, tensor<4096x4096xf16>) outs(%start : tensor<512x4096xf32>) {
  ^bb0(%l: f16, %r: f16, %s: f32):
    %l32 = arith.extf %l : f16 to f32
    %r32 = arith.extf %r : f16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x4096xf32>
  return %sum : tensor<512x4096xf32>
}

func.func @odd(%a: tensor<16x4100xf16>, %b: tensor<4096x4100xf16>) -> tensor<16x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<16x4096xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x4100xf16>, tensor<4096x4100xf16>) outs(%start : tensor<16x4096xf32>) {
  ^bb0(%l: f16, %r: f16, %s: f32):
    %l32 = arith.extf %l : f16 to f32
    %r32 = arith.extf %r : f16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<16x4096xf32>
  return %sum : tensor<16x4096xf32>
}

func.func @more(%a: tensor<33x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<33x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<33x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<33x1024xf32>) -> tensor<33x1024xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x1024xf32>, tensor<1024x1024xf32>) outs(%start : tensor<33x1024xf32>) {
  ^bb0(%l: f32, %r: f32, %s: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<33x1024xf32>
  return %sum : tensor<33x1024xf32>
}

func.func @small(%a: tensor<1000x16x64xf16>, %b: tensor<1000x64x64xf16>) -> tensor<1000x16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<1000x16x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<1000x16x64xf32>) -> tensor<1000x16x64xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1000x16x64xf16>, tensor<1000x64x64xf16>) outs(%start : tensor<1000x16x64xf32>) {
  ^bb0(%l: f16, %r: f16, %s: f32):
    %l32 = arith.extf %l : f16 to f32
    %r32 = arith.extf %r : f16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1000x16x64xf32>
  return %sum : tensor<1000x16x64xf32>
}
