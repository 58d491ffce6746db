// A scan with what is elementwise around it, before it, behind it, and without.
#full = affine_map<(r, c) -> (r, c)>

func.func @around(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %two = arith.constant 2.0 : f32
  %r = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%y#0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @before(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  return %y#0 : tensor<8x16xf32>
}

func.func @after(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %two = arith.constant 2.0 : f32
  %r = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%y#0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @alone(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  return %y#0 : tensor<8x16xf32>
}
