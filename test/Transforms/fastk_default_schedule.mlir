// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-default-schedule))' | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// A softmax becomes one loop over rows with a row of temporaries.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // CHECK: scf.forall (%{{.*}}) in (32)
  // CHECK: arith.maximumf
  // CHECK: math.exp
  // CHECK: } -> tensor<1x64xf32>
  // CHECK: arith.addf
  // CHECK: arith.divf
  // CHECK: scf.forall.in_parallel
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %z = arith.constant 0.0 : f32
  %m = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %er = tensor.empty() : tensor<32xf32>
  %im = linalg.fill ins(%m : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %iz = linalg.fill ins(%z : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<32x64xf32>) outs(%im : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %max : tensor<32x64xf32>, tensor<32xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<32x64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%exp : tensor<32x64xf32>) outs(%iz : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%exp, %sum : tensor<32x64xf32>, tensor<32xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
// A chain of elementwise ops becomes one; what has one consumer moves into it.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: linalg.generic
  // CHECK: math.tanh
  // CHECK: math.exp
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.tanh ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.exp ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// A matmul whose weight is the same for all rows is not cut into rows: the
// packed loop nest reads the weight once.
// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-NOT: scf.forall
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%i : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// A masked value is made before its maximum is taken, not in one loop with it.
// CHECK-LABEL: func.func @masked_maximum
func.func @masked_maximum(%x: tensor<32x64xf32>) -> tensor<32xf32> {
  // CHECK: arith.cmpi
  // CHECK: arith.select
  // CHECK-NEXT: linalg.yield
  // CHECK-NOT: arith.select
  // CHECK: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
  // CHECK-NEXT: arith.maximumf %[[IN]], %[[OUT]]
  %m = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %er = tensor.empty() : tensor<32xf32>
  %i = linalg.fill ins(%m : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %k = arith.cmpi sle, %c, %r : index
    %0 = arith.select %k, %a, %m : f32
    linalg.yield %0 : f32
  } -> tensor<32x64xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%s : tensor<32x64xf32>) outs(%i : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %max : tensor<32xf32>
}

// -----

// A sum of columns is no row for each column: all of them are read at once.
#all = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
// CHECK-LABEL: func.func @column_means
// CHECK-NOT: scf.forall
// CHECK: return
func.func @column_means(%x: tensor<320x64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %n = arith.constant 320.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<320x64xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %mean = linalg.map ins(%sum : tensor<64xf32>) outs(%e : tensor<64xf32>) (%s: f32, %o: f32) {
    %0 = arith.divf %s, %n : f32
    linalg.yield %0 : f32
  }
  return %mean : tensor<64xf32>
}

// -----

// Windows of few elements are no row each: those that begin beside each other are.
#window = affine_map<(n, c, x, k) -> (n, c, x * 3 + k)>
#size = affine_map<(n, c, x, k) -> (k)>
#place = affine_map<(n, c, x, k) -> (n, c, x)>
// CHECK-LABEL: func.func @windows
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (4, 6)
// CHECK: arith.maximumf
// CHECK: -> tensor<1x1x99xf32>
// CHECK: return
func.func @windows(%x: tensor<4x6x300xf32>) -> tensor<4x6x99xf32> {
  %m = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x6x99xf32>
  %w = tensor.empty() : tensor<6xf32>
  %i = linalg.fill ins(%m : f32) outs(%e : tensor<4x6x99xf32>) -> tensor<4x6x99xf32>
  %max = linalg.generic {indexing_maps = [#window, #size, #place], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<4x6x300xf32>, tensor<6xf32>) outs(%i : tensor<4x6x99xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4x6x99xf32>
  return %max : tensor<4x6x99xf32>
}

// -----

// A long window is a row of its own.
#window = affine_map<(n, c, x, k) -> (n, c, x * 33 + k)>
#size = affine_map<(n, c, x, k) -> (k)>
#place = affine_map<(n, c, x, k) -> (n, c, x)>
// CHECK-LABEL: func.func @long_windows
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (4, 6, 9)
func.func @long_windows(%x: tensor<4x6x300xf32>) -> tensor<4x6x9xf32> {
  %m = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x6x9xf32>
  %w = tensor.empty() : tensor<33xf32>
  %i = linalg.fill ins(%m : f32) outs(%e : tensor<4x6x9xf32>) -> tensor<4x6x9xf32>
  %max = linalg.generic {indexing_maps = [#window, #size, #place], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<4x6x300xf32>, tensor<33xf32>) outs(%i : tensor<4x6x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4x6x9xf32>
  return %max : tensor<4x6x9xf32>
}

// -----

// What makes an integer of 64 bits of a float is done once for each column, not again for each element.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @sampled
// CHECK: arith.fptosi
// CHECK: linalg.yield
// CHECK: linalg.generic
// CHECK-NOT: arith.fptosi
// CHECK: tensor.extract
func.func @sampled(%x: tensor<64x32xf32>, %places: tensor<48xf32>) -> tensor<64x48xf32> {
  %ep = tensor.empty() : tensor<48xi64>
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%places : tensor<48xf32>) outs(%ep : tensor<48xi64>) {
  ^bb0(%a: f32, %o: i64):
    %0 = arith.fptosi %a : f32 to i64
    linalg.yield %0 : i64
  } -> tensor<48xi64>
  %e = tensor.empty() : tensor<64x48xf32>
  %r = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<48xi64>) outs(%e : tensor<64x48xf32>) {
  ^bb0(%k: i64, %o: f32):
    %row = linalg.index 0 : index
    %c = arith.index_cast %k : i64 to index
    %0 = tensor.extract %x[%row, %c] : tensor<64x32xf32>
    linalg.yield %0 : f32
  } -> tensor<64x48xf32>
  return %r : tensor<64x48xf32>
}
