// A convolution whose kernel is one pixel, and the same sums written as a product.
func.func @main(%x: tensor<4x64x28x30xf32>, %w: tensor<128x64x1x1xf32>, %v: tensor<128x64xf32>)
    -> (tensor<4x128x28x30xf32>, tensor<4x128x28x30xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x128x28x30xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x128x28x30xf32>) -> tensor<4x128x28x30xf32>
  %c = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<4x64x28x30xf32>, tensor<128x64x1x1xf32>)
    outs(%z : tensor<4x128x28x30xf32>) -> tensor<4x128x28x30xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(n, o, y, x, c) -> (n, c, y, x)>, affine_map<(n, o, y, x, c) -> (o, c)>,
                                        affine_map<(n, o, y, x, c) -> (n, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<4x64x28x30xf32>, tensor<128x64xf32>) outs(%z : tensor<4x128x28x30xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %m, %s : f32
    linalg.yield %t : f32
  } -> tensor<4x128x28x30xf32>
  return %c, %p : tensor<4x128x28x30xf32>, tensor<4x128x28x30xf32>
}
