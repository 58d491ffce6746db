func.func @f(%a: tensor<512x1024xf16>, %b: tensor<768x1024xf16>, %bias: tensor<768xf16>) -> tensor<512x768xf16> {
  %c0 = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %r2 = arith.constant 0.70710678 : f32
  %i = tensor.empty() : tensor<512x768xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%i : tensor<512x768xf32>) -> tensor<512x768xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<512x1024xf16>, tensor<768x1024xf16>) outs(%z : tensor<512x768xf32>) {
  ^bb0(%x: f16, %y: f16, %o: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<512x768xf32>
  %e = tensor.empty() : tensor<512x768xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%m, %bias : tensor<512x768xf32>, tensor<768xf16>) outs(%e : tensor<512x768xf16>) {
  ^bb0(%x: f32, %y: f16, %o: f16):
    %ye = arith.extf %y : f16 to f32
    %s = arith.addf %x, %ye : f32
    %t = arith.mulf %s, %r2 : f32
    %u = math.erf %t : f32
    %v = arith.addf %u, %one : f32
    %w = arith.mulf %s, %half : f32
    %q = arith.mulf %v, %w : f32
    %h = arith.truncf %q : f32 to f16
    linalg.yield %h : f16
  } -> tensor<512x768xf16>
  return %r : tensor<512x768xf16>
}
