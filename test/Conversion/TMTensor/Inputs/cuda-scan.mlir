func.func @forward(%x: tensor<3x150xf32>, %y: tensor<150x3xi64>) -> (tensor<3x150xf32>, tensor<150x3xi64>) {
  %e = tensor.empty() : tensor<3x150xf32>
  %a = tensor.empty() : tensor<3xf32>
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x150xf32>) outs(%e, %a : tensor<3x150xf32>, tensor<3xf32>) {
  ^bb0(%s: f32, %in: f32):
    %t = arith.addf %s, %in : f32
    tm_tensor.yield %t : f32
  } -> tensor<3x150xf32>, tensor<3xf32>
  %f = tensor.empty() : tensor<150x3xi64>
  %b = tensor.empty() : tensor<3xi64>
  %q:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%y : tensor<150x3xi64>) outs(%f, %b : tensor<150x3xi64>, tensor<3xi64>) {
  ^bb0(%s: i64, %in: i64):
    %t = arith.muli %in, %s : i64
    tm_tensor.yield %t : i64
  } -> tensor<150x3xi64>, tensor<3xi64>
  return %r#0, %q#0 : tensor<3x150xf32>, tensor<150x3xi64>
}
