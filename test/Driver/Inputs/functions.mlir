// A function that another calls, twice.
#id = affine_map<(d0) -> (d0)>
func.func private @double(%a: tensor<80xf32>) -> tensor<80xf32> {
  %e = tensor.empty() : tensor<80xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<80xf32>) outs(%e : tensor<80xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.addf %x, %x : f32
    linalg.yield %r : f32
  } -> tensor<80xf32>
  return %m : tensor<80xf32>
}
func.func @forward(%a: tensor<80xf32>) -> tensor<80xf32> {
  %0 = func.call @double(%a) : (tensor<80xf32>) -> tensor<80xf32>
  %1 = func.call @double(%0) : (tensor<80xf32>) -> tensor<80xf32>
  return %1 : tensor<80xf32>
}
