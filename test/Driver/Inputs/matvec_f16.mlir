func.func @matvec(%a: tensor<37x256xf16>, %x: tensor<256xf16>) -> tensor<37xf16> {
  %zero = arith.constant 0.0 : f32
  %sums = tensor.empty() : tensor<37xf32>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<37xf32>) -> tensor<37xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a, %x : tensor<37x256xf16>, tensor<256xf16>) outs(%start : tensor<37xf32>) {
  ^bb0(%l: f16, %r: f16, %s: f32):
    %l32 = arith.extf %l : f16 to f32
    %r32 = arith.extf %r : f16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<37xf32>
  %out = tensor.empty() : tensor<37xf16>
  %result = linalg.generic {
      indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<37xf32>) outs(%out : tensor<37xf16>) {
  ^bb0(%s: f32, %o: f16):
    %h = arith.truncf %s : f32 to f16
    linalg.yield %h : f16
  } -> tensor<37xf16>
  return %result : tensor<37xf16>
}
