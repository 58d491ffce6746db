// Products of f32 whose rows begin at no multiples of 16 bytes: many small ones, two large ones, and many larger ones; and many small
// ones whose rows do.
func.func @many(%a: tensor<32768x64x62xf32>, %b: tensor<32768x62x64xf32>) -> tensor<32768x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32768x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32768x64x64xf32>) -> tensor<32768x64x64xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<32768x64x62xf32>, tensor<32768x62x64xf32>) outs(%init : tensor<32768x64x64xf32>) -> tensor<32768x64x64xf32>
  return %c : tensor<32768x64x64xf32>
}
func.func @large(%a: tensor<2x1024x1022xf32>, %b: tensor<2x1022x1024xf32>) -> tensor<2x1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x1024x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x1024x1024xf32>) -> tensor<2x1024x1024xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<2x1024x1022xf32>, tensor<2x1022x1024xf32>) outs(%init : tensor<2x1024x1024xf32>) -> tensor<2x1024x1024xf32>
  return %c : tensor<2x1024x1024xf32>
}
func.func @larger(%a: tensor<1024x128x62xf32>, %b: tensor<1024x62x128xf32>) -> tensor<1024x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x128x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x128x128xf32>) -> tensor<1024x128x128xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<1024x128x62xf32>, tensor<1024x62x128xf32>) outs(%init : tensor<1024x128x128xf32>) -> tensor<1024x128x128xf32>
  return %c : tensor<1024x128x128xf32>
}
func.func @aligned(%a: tensor<32768x64x64xf32>, %b: tensor<32768x64x64xf32>) -> tensor<32768x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32768x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32768x64x64xf32>) -> tensor<32768x64x64xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<32768x64x64xf32>, tensor<32768x64x64xf32>) outs(%init : tensor<32768x64x64xf32>) -> tensor<32768x64x64xf32>
  return %c : tensor<32768x64x64xf32>
}
