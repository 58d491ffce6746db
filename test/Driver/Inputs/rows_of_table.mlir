// Imported from PyTorch:
//
// class Rows(torch.nn.Module):
//     def __init__(self):
//         super().__init__()
//         self.table = torch.nn.Parameter(torch.randn(100, 64))
//         self.positions = torch.nn.Parameter(torch.randn(32, 64))
//
//     def forward(self, ids):
//         return self.table[ids] * 8.0 + self.positions
//
// with torch.randint(0, 100, (2, 32)) as ids.
#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d1, d2)>
module {
  func.func @forward(%arg0: tensor<100x64xf32>, %arg1: tensor<32x64xf32>, %arg2: tensor<2x32xi64>) -> tensor<2x32x64xf32> {
    %c0_i64 = arith.constant 0 : i64
    %c100_i64 = arith.constant 100 : i64
    %cst = arith.constant 8.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x32x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x32xi64>) outs(%0 : tensor<2x32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %4 = arith.cmpi slt, %in, %c0_i64 : i64
      %5 = arith.addi %in, %c100_i64 : i64
      %6 = arith.select %4, %5, %in : i64
      %7 = arith.index_cast %6 : i64 to index
      %8 = linalg.index 2 : index
      %extracted = tensor.extract %arg0[%7, %8] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x32x64xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<2x32x64xf32>) outs(%0 : tensor<2x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = arith.mulf %in, %cst : f32
      linalg.yield %4 : f32
    } -> tensor<2x32x64xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %arg1 : tensor<2x32x64xf32>, tensor<32x64xf32>) outs(%0 : tensor<2x32x64xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %4 = arith.addf %in, %in_0 : f32
      linalg.yield %4 : f32
    } -> tensor<2x32x64xf32>
    return %3 : tensor<2x32x64xf32>
  }
}
