// Six workloads of one kind, each with a key of its own.
func.func @forward(%x0: tensor<100x64xf32>, %x1: tensor<101x64xf32>, %x2: tensor<102x64xf32>, %x3: tensor<103x64xf32>, %x4: tensor<104x64xf32>, %x5: tensor<105x64xf32>) -> (tensor<100x64xf32>, tensor<101x64xf32>, tensor<102x64xf32>, tensor<103x64xf32>, tensor<104x64xf32>, tensor<105x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<100x64xf32>
  %r0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x0 : tensor<100x64xf32>) outs(%e0 : tensor<100x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<100x64xf32>
  %e1 = tensor.empty() : tensor<101x64xf32>
  %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x1 : tensor<101x64xf32>) outs(%e1 : tensor<101x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<101x64xf32>
  %e2 = tensor.empty() : tensor<102x64xf32>
  %r2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x2 : tensor<102x64xf32>) outs(%e2 : tensor<102x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<102x64xf32>
  %e3 = tensor.empty() : tensor<103x64xf32>
  %r3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x3 : tensor<103x64xf32>) outs(%e3 : tensor<103x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<103x64xf32>
  %e4 = tensor.empty() : tensor<104x64xf32>
  %r4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x4 : tensor<104x64xf32>) outs(%e4 : tensor<104x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<104x64xf32>
  %e5 = tensor.empty() : tensor<105x64xf32>
  %r5 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x5 : tensor<105x64xf32>) outs(%e5 : tensor<105x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<105x64xf32>
  return %r0, %r1, %r2, %r3, %r4, %r5 : tensor<100x64xf32>, tensor<101x64xf32>, tensor<102x64xf32>, tensor<103x64xf32>, tensor<104x64xf32>, tensor<105x64xf32>
}
