// Scores of 69 GB between its two ops, in f32; as much again in the oracle's f64.
func.func @forward(%a: tensor<65536x64xf32>, %b: tensor<64x262144xf32>) -> tensor<65536xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<65536x262144xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<65536x262144xf32>) -> tensor<65536x262144xf32>
  %s = linalg.matmul ins(%a, %b : tensor<65536x64xf32>, tensor<64x262144xf32>) outs(%f : tensor<65536x262144xf32>) -> tensor<65536x262144xf32>
  %e1 = tensor.empty() : tensor<65536xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<65536xf32>) -> tensor<65536xf32>
  %r = linalg.reduce {arith.maximumf} ins(%s : tensor<65536x262144xf32>) outs(%f1 : tensor<65536xf32>) dimensions = [1]
  return %r : tensor<65536xf32>
}
