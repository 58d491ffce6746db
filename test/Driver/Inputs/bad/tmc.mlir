func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tm_tensor.scan dimension(0) inclusive(true)
  return %a : tensor<4xf32>
}
