func.func @forward(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  %l = tensor.empty() : tensor<48xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<48xf32>) -> tensor<48xf32>
  %y:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<64x48xf32>)
      outs(%f, %s : tensor<64x48xf32>, tensor<48xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x48xf32>, tensor<48xf32>
  %r = linalg.exp ins(%y#0 : tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %r : tensor<64x48xf32>
}
