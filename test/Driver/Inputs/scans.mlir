// Cumulative sums of rows and columns, and what is around them.
#full = affine_map<(r, c) -> (r, c)>

func.func @alone(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<64x256xf32>)
      outs(%f, %s : tensor<64x256xf32>, tensor<64xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<64xf32>
  return %y#0 : tensor<64x256xf32>
}

func.func @exclusive(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant dense<0.0> : tensor<64x1xf32>
  %front = tensor.extract_slice %x[0, 0] [64, 255] [1, 1] : tensor<64x256xf32> to tensor<64x255xf32>
  %e = tensor.empty() : tensor<64x255xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x255xf32>) -> tensor<64x255xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%front : tensor<64x255xf32>)
      outs(%f, %s : tensor<64x255xf32>, tensor<64xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x255xf32>, tensor<64xf32>
  %r = tensor.concat dim(1) %first, %y#0 : (tensor<64x1xf32>, tensor<64x255xf32>) -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

func.func @masked(%x: tensor<64x256xf32>, %mask: tensor<64x256xi1>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %m = linalg.generic {indexing_maps = [#full, #full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mask : tensor<64x256xf32>, tensor<64x256xi1>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %is: i1, %o: f32):
    %one = arith.uitofp %is : i1 to f32
    %kept = arith.mulf %a, %one : f32
    linalg.yield %kept : f32
  } -> tensor<64x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%m : tensor<64x256xf32>)
      outs(%f, %s : tensor<64x256xf32>, tensor<64xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<64xf32>
  return %y#0 : tensor<64x256xf32>
}

// Along rows, and of twice that along columns.
func.func @two(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<64x256xf32>)
      outs(%f, %s : tensor<64x256xf32>, tensor<64xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<64xf32>
  %d = linalg.add ins(%y#0, %y#0 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %k = tensor.empty() : tensor<256xf32>
  %t = linalg.fill ins(%zero : f32) outs(%k : tensor<256xf32>) -> tensor<256xf32>
  %z:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%d : tensor<64x256xf32>)
      outs(%f, %t : tensor<64x256xf32>, tensor<256xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<256xf32>
  return %z#0 : tensor<64x256xf32>
}

// The prefixes are a result, too: with what reads them the region would have two.
func.func @kept(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %a = linalg.abs ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %l = tensor.empty() : tensor<64xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<64xf32>) -> tensor<64xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%a : tensor<64x256xf32>)
      outs(%f, %s : tensor<64x256xf32>, tensor<64xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<64x256xf32>, tensor<64xf32>
  %n = linalg.negf ins(%y#0 : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %y#0, %n : tensor<64x256xf32>, tensor<64x256xf32>
}
