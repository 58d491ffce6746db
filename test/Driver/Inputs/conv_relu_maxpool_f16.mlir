// A convolution in f16 with a padding, a bias and a relu, and a pooling of what comes of it.
#element = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @forward(%weight: tensor<64x64x3x3xf16>, %bias: tensor<64xf16>, %image: tensor<8x64x56x56xf16>) -> tensor<8x64x28x28xf16> {
    %zero = arith.constant 0.0 : f16
    %least = arith.constant 0xFC00 : f16
    %padded = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%n: index, %c: index, %y: index, %x: index):
      tensor.yield %zero : f16
    } : tensor<8x64x56x56xf16> to tensor<8x64x58x58xf16>
    %sums = tensor.empty() : tensor<8x64x56x56xf32>
    %wide = tensor.empty() : tensor<64xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%bias : tensor<64xf16>) outs(%wide : tensor<64xf32>) {
    ^bb0(%in: f16, %out: f32):
      %0 = arith.extf %in : f16 to f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    %start = linalg.broadcast ins(%b : tensor<64xf32>) outs(%sums : tensor<8x64x56x56xf32>) dimensions = [0, 2, 3]
    %conv = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%padded, %weight : tensor<8x64x58x58xf16>, tensor<64x64x3x3xf16>) outs(%start : tensor<8x64x56x56xf32>) -> tensor<8x64x56x56xf32>
    %halves = tensor.empty() : tensor<8x64x56x56xf16>
    %relu = linalg.generic {indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv : tensor<8x64x56x56xf32>) outs(%halves : tensor<8x64x56x56xf16>) {
    ^bb0(%in: f32, %out: f16):
      %0 = arith.truncf %in : f32 to f16
      %1 = arith.cmpf ugt, %0, %zero : f16
      %2 = arith.select %1, %0, %zero : f16
      linalg.yield %2 : f16
    } -> tensor<8x64x56x56xf16>
    %quarter = tensor.empty() : tensor<8x64x28x28xf16>
    %first = linalg.fill ins(%least : f16) outs(%quarter : tensor<8x64x28x28xf16>) -> tensor<8x64x28x28xf16>
    %window = tensor.empty() : tensor<2x2xf16>
    %pooled = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%relu, %window : tensor<8x64x56x56xf16>, tensor<2x2xf16>) outs(%first : tensor<8x64x28x28xf16>) -> tensor<8x64x28x28xf16>
    return %pooled : tensor<8x64x28x28xf16>
  }
}
