// A product that a result needs as it is, and another one scaled: queries, and their half of a rotation.
#map = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @forward(%x: tensor<256x128xf16>, %w: tensor<192x128xf16>, %scale: tensor<192xf16>) -> (tensor<256x192xf16>, tensor<256x192xf16>) {
  %zero = arith.constant 0.0 : f32
  %sums_empty = tensor.empty() : tensor<256x192xf32>
  %sums_zero = linalg.fill ins(%zero : f32) outs(%sums_empty : tensor<256x192xf32>) -> tensor<256x192xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<256x128xf16>, tensor<192x128xf16>) outs(%sums_zero : tensor<256x192xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %product = arith.mulf %a32, %b32 : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<256x192xf32>
  %empty = tensor.empty() : tensor<256x192xf16>
  %queries = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%sums : tensor<256x192xf32>) outs(%empty : tensor<256x192xf16>) {
  ^bb0(%in: f32, %out: f16):
    %rounded = arith.truncf %in : f32 to f16
    linalg.yield %rounded : f16
  } -> tensor<256x192xf16>
  %scaled = linalg.generic {indexing_maps = [#map, #columns, #map], iterator_types = ["parallel", "parallel"]} ins(%queries, %scale : tensor<256x192xf16>, tensor<192xf16>) outs(%empty : tensor<256x192xf16>) {
  ^bb0(%in: f16, %s: f16, %out: f16):
    %times = arith.mulf %in, %s : f16
    linalg.yield %times : f16
  } -> tensor<256x192xf16>
  return %queries, %scaled : tensor<256x192xf16>, tensor<256x192xf16>
}
