// RUN: fastk-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fastk-derive-condition))'

func.func @power(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  // expected-error @below {{reduces rounded values by 'math.powf', which has no rule of error analysis (required by 'fastk-derive-condition')}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x4xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.powf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

func.func @integer(%x: tensor<4xf32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: f32, %o: i32):
    %0 = math.exp %a : f32
    // expected-error @below {{makes an integer of a rounded value, which has no rule of error analysis (required by 'fastk-derive-condition')}}
    %1 = arith.fptosi %0 : f32 to i32
    linalg.yield %1 : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
