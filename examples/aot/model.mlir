// Two functions to be called from C, C++ and Python: one of static shape, and
// one whose sizes a call decides and which can fail.

// x times w.
func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x3xf32>) -> tensor<4x3xf32>
  %product = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x3xf32>)
                           outs(%init : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %product : tensor<4x3xf32>
}

// The first n rows of x, doubled.
func.func @head(%x: tensor<?x2xf32>, %n: i64) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x2xf32>
  %count = arith.index_cast %n : i64 to index
  %isThere = arith.cmpi ule, %count, %rows : index
  cf.assert %isThere, "head: x has fewer rows than n"
  %part = tensor.extract_slice %x[0, 0] [%count, 2] [1, 1] : tensor<?x2xf32> to tensor<?x2xf32>
  %empty = tensor.empty(%count) : tensor<?x2xf32>
  %twice = linalg.add ins(%part, %part : tensor<?x2xf32>, tensor<?x2xf32>)
                      outs(%empty : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %twice : tensor<?x2xf32>
}
