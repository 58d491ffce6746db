// A convolution of one pixel.
func.func @forward(%x: tensor<32x64x56x56xf32>, %w: tensor<64x64x1x1xf32>) -> tensor<32x64x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64x56x56xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64x56x56xf32>) -> tensor<32x64x56x56xf32>
  %sums = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<32x64x56x56xf32>, tensor<64x64x1x1xf32>) outs(%start : tensor<32x64x56x56xf32>) -> tensor<32x64x56x56xf32>
  return %sums : tensor<32x64x56x56xf32>
}
