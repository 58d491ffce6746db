func.func @forward(%a: tensor<128x128xi32>, %b: tensor<128x128xi32>) -> tensor<128x128xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %m = linalg.matmul ins(%a, %b : tensor<128x128xi32>, tensor<128x128xi32>) outs(%f : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %m : tensor<128x128xi32>
}
