func.func @long(%a: tensor<4096x8192xbf16>, %b: tensor<4096x8192xbf16>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<4096x4096xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4096x8192xbf16>, tensor<4096x8192xbf16>) outs(%start : tensor<4096x4096xf32>) {
  ^bb0(%l: bf16, %r: bf16, %s: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4096x4096xf32>
  return %sum : tensor<4096x4096xf32>
}
