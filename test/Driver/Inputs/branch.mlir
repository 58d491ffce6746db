func.func @forward(%c: tensor<i1>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %0 -> tensor<8xf32> {
    scf.yield %a : tensor<8xf32>
  } else {
    scf.yield %b : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}
