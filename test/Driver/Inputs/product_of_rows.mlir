// No family multiplies prefixes in f32.
func.func @forward(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %a = linalg.abs ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%one : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%a : tensor<64x256xf32>)
      outs(%f, %s : tensor<64x256xf32>, tensor<64xf32>) {
  ^bb0(%product: f32, %in: f32):
    %next = arith.mulf %product, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<64xf32>
  %n = linalg.negf ins(%y#0 : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %n : tensor<64x256xf32>
}
