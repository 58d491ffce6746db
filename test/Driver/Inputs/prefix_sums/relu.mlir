// What is positive of the sums of each row up to each of its columns.
func.func @forward(%a: tensor<256x256xi32>) -> tensor<256x256xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<256x256xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<256x256xi32>) -> tensor<256x256xi32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a : tensor<256x256xi32>) outs(%f : tensor<256x256xi32>) {
  ^bb0(%in: i32, %out: i32):
    %none = arith.constant 0 : i32
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %counts = arith.cmpi ule, %k, %j : index
    %x = arith.select %counts, %in, %none : i32
    %sum = arith.addi %out, %x : i32
    linalg.yield %sum : i32
  } -> tensor<256x256xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<256x256xi32>) outs(%e : tensor<256x256xi32>) {
  ^bb0(%in: i32, %out: i32):
    %zero = arith.constant 0 : i32
    %max = arith.maxsi %in, %zero : i32
    linalg.yield %max : i32
  } -> tensor<256x256xi32>
  return %r : tensor<256x256xi32>
}
