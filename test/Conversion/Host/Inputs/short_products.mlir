func.func @whole(%a: tensor<192x64xf32>, %b: tensor<64x192xf32>) -> tensor<192x192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<192x192xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<192x192xf32>) -> tensor<192x192xf32>
  %c = linalg.matmul ins(%a, %b : tensor<192x64xf32>, tensor<64x192xf32>) outs(%init : tensor<192x192xf32>) -> tensor<192x192xf32>
  return %c : tensor<192x192xf32>
}
func.func @edges(%a: tensor<67x23xf32>, %b: tensor<23x109xf32>) -> tensor<67x109xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<67x109xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<67x109xf32>) -> tensor<67x109xf32>
  %c = linalg.matmul ins(%a, %b : tensor<67x23xf32>, tensor<23x109xf32>) outs(%init : tensor<67x109xf32>) -> tensor<67x109xf32>
  return %c : tensor<67x109xf32>
}
func.func @batches(%a: tensor<6x67x23xf32>, %b: tensor<6x23x109xf32>) -> tensor<6x67x109xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x67x109xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x67x109xf32>) -> tensor<6x67x109xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<6x67x23xf32>, tensor<6x23x109xf32>) outs(%init : tensor<6x67x109xf32>) -> tensor<6x67x109xf32>
  return %c : tensor<6x67x109xf32>
}
