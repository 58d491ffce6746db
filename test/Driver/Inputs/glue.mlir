// What stands between workloads: a result that is an argument, data of the model,
// a slice that is returned.
#id = affine_map<(d0) -> (d0)>
func.func @forward(%a: tensor<80xf32>) -> (tensor<80xf32>, tensor<80xf32>, tensor<8xf32>) {
  %data = arith.constant dense<[0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0,13.0,14.0,15.0,16.0,17.0,18.0,19.0,20.0,21.0,22.0,23.0,24.0,25.0,26.0,27.0,28.0,29.0,30.0,31.0,32.0,33.0,34.0,35.0,36.0,37.0,38.0,39.0,40.0,41.0,42.0,43.0,44.0,45.0,46.0,47.0,48.0,49.0,50.0,51.0,52.0,53.0,54.0,55.0,56.0,57.0,58.0,59.0,60.0,61.0,62.0,63.0,64.0,65.0,66.0,67.0,68.0,69.0,70.0,71.0,72.0,73.0,74.0,75.0,76.0,77.0,78.0,79.0]> : tensor<80xf32>
  %e = tensor.empty() : tensor<80xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %data : tensor<80xf32>, tensor<80xf32>) outs(%e : tensor<80xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.mulf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<80xf32>
  %s = tensor.extract_slice %1[8] [8] [1] : tensor<80xf32> to tensor<8xf32>
  return %a, %1, %s : tensor<80xf32>, tensor<80xf32>, tensor<8xf32>
}
