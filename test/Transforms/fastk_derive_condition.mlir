// RUN: fastk-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(fastk-derive-condition))' | FileCheck %s

// What only moves and selects operands is exact: its condition is 0.
// CHECK-LABEL: func.func @relu
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK: %[[FILL:.*]] = linalg.fill ins(%[[ZERO]] : f64)
// CHECK-NOT: linalg.generic
// CHECK: return %[[FILL]] : tensor<4xf64>
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %a, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// exp: r (2 |x| + 2), and what is flushed below the normal numbers. A magnitude
// stands for the condition of an exact operand.
// CHECK-LABEL: func.func @exp
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: f64, %{{.*}}: f64):
// CHECK: %[[R:.*]] = math.exp %[[X]]
// CHECK: %[[SIZE:.*]] = math.absf %[[X]]
// CHECK: arith.minimumf
// CHECK: arith.mulf
// CHECK: linalg.yield %{{.*}} : f64
func.func @exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A contraction's conditions are contractions: of magnitudes, and of flags for
// the number of terms. The value itself is not needed.
// CHECK-LABEL: func.func @matmul
// CHECK: math.absf
// CHECK: math.absf
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: math.sqrt
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// A result kept in f16 rounds once more: 1.1 * 2^-11 / (8 * 2^-24) = 1126.4.
// CHECK-LABEL: func.func @stored
// CHECK-DAG: arith.constant 1.126400e+03 : f64
// CHECK-DAG: arith.constant 6.550400e+04 : f64
func.func @stored(%x: tensor<4xf16>) -> tensor<4xf16> {
  %e = tensor.empty() : tensor<4xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf16>) outs(%e : tensor<4xf16>) {
  ^bb0(%a: f16, %o: f16):
    %0 = arith.extf %a : f16 to f32
    %1 = math.tanh %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

// So does f64 that goes through f32: 1.1 * 2^-24 / (8 * 2^-24) = 0.1375, though
// what comes out is f64 again.
// CHECK-LABEL: func.func @through_f32
// CHECK-DAG: arith.constant 1.375000e-01 : f64
// CHECK-DAG: %[[R:.*]] = arith.mulf %{{.*}}, %{{.*}} : f64
func.func @through_f32(%x: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f64, %o: f64):
    %0 = arith.truncf %a : f64 to f32
    %1 = arith.extf %0 : f32 to f64
    linalg.yield %1 : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// -----

// Integers are returned as they are, padding is exact, and the place of a
// maximum that nobody uses needs no rule.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: (%[[X:.*]]: tensor<4xi32>, %{{.*}}: tensor<2x4xf32>) -> (tensor<4xi32>, tensor<2xf64>)
// CHECK: linalg.fill
// CHECK: return %[[X]]
func.func @integers(%x: tensor<4xi32>, %y: tensor<2x4xf32>) -> (tensor<4xi32>, tensor<2xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<2xf32>
  %i = tensor.empty() : tensor<2xi64>
  %ef = linalg.fill ins(%low : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %if = linalg.fill ins(%zero : i64) outs(%i : tensor<2xi64>) -> tensor<2xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%y : tensor<2x4xf32>) outs(%ef, %if : tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%a: f32, %m: f32, %p: i64):
    %k = linalg.index 1 : index
    %kk = arith.index_cast %k : index to i64
    %0 = arith.maximumf %a, %m : f32
    %1 = arith.cmpf ogt, %a, %m : f32
    %2 = arith.select %1, %kk, %p : i64
    linalg.yield %0, %2 : f32, i64
  } -> (tensor<2xf32>, tensor<2xi64>)
  return %x, %r#0 : tensor<4xi32>, tensor<2xf32>
}

// -----

// The slope of a root is infinite at 0, what it may be off by is not: a root of
// what the operand may be. Below the smallest normal number the operand may be
// lost as a whole.
// CHECK-LABEL: func.func @root
// CHECK: ^bb0(%[[X:.*]]: f64, %{{.*}}: f64):
// CHECK-DAG: %[[R:.*]] = math.sqrt %[[X]]
// CHECK-DAG: %[[SIZE:.*]] = math.absf %[[X]]
// CHECK: %[[NORMAL:.*]] = arith.cmpf oge, %[[SIZE]]
// CHECK: %[[K:.*]] = arith.select %[[NORMAL]], %[[SIZE]], %{{.*}} : f64
// CHECK: %[[REACH:.*]] = arith.mulf %[[K]]
// CHECK: %[[AWAY:.*]] = arith.cmpf olt, %[[REACH]], %[[X]]
// CHECK: %[[SLOPE:.*]] = arith.divf %[[K]]
// CHECK: math.sqrt %[[REACH]]
// CHECK: arith.select %[[AWAY]], %[[SLOPE]]
func.func @root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.sqrt %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A term counts in a maximum only as far as it may be taken: its condition less
// by how far it is behind.
// CHECK-LABEL: func.func @highest
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK-SAME: %[[MAX]]
// CHECK: ^bb0(%[[T:.*]]: f64, %[[TAKEN:.*]]: f64, %[[SO_FAR:.*]]: f64):
// CHECK: %[[K:.*]] = arith.select
// CHECK: %[[BEHIND:.*]] = arith.subf %{{.*}}, %[[TAKEN]]
// CHECK: %[[LEFT:.*]] = arith.subf
// CHECK: %[[TERM:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LEFT]]
// CHECK: arith.maximumf %[[SO_FAR]], %[[TERM]]
func.func @highest(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %0 = math.exp %a : f32
    %1 = arith.maximumf %0, %m : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// The zeros of an exact operand stand before the op, also behind a padding,
// which has a body of its own.
// CHECK-LABEL: func.func @padded_beside_exact
// CHECK: tensor.pad
// CHECK: tensor.yield
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: tensor.concat dim(0) %{{.*}}, %[[ZEROS]] : (tensor<5xf64>, tensor<3xf64>)
func.func @padded_beside_exact(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %p = tensor.pad %r low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<5xf32>
  %c = tensor.concat dim(0) %p, %y : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// A product of many goes along with its condition, and with the largest and the
// smallest that it may be on the way.
// CHECK-LABEL: func.func @product
// CHECK: ^bb0(%[[X:.*]]: f64, %[[R:.*]]: f64, %[[K:.*]]: f64, %[[MOST:.*]]: f64, %[[LEAST:.*]]: f64):
// CHECK: %[[VALUE:.*]] = arith.mulf %[[R]], %[[X]]
// CHECK: arith.mulf %{{.*}}, %[[K]]
// CHECK: arith.mulf %[[MOST]], %{{.*}}
// CHECK: arith.mulf %[[LEAST]], %{{.*}}
// CHECK: linalg.yield %[[VALUE]], %{{.*}}, %{{.*}}, %{{.*}} : f64, f64, f64, f64
func.func @product(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<2x4xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// What an op writes to is an operand where it reads that: x + exp(y), in place.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[Y:.*]]: tensor<4xf64>, %[[X:.*]]: tensor<4xf64>)
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[Y]], %[[X]] : tensor<4xf64>, tensor<4xf64>)
// CHECK: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64, %{{.*}}: f64):
// CHECK: %[[EXP:.*]] = math.exp %[[A]]
// CHECK: arith.addf %[[B]], %[[EXP]]
func.func @in_place(%y: tensor<4xf64>, %x: tensor<4xf64>) -> tensor<4xf64> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%y : tensor<4xf64>) outs(%x : tensor<4xf64>) {
  ^bb0(%a: f64, %o: f64):
    %0 = math.exp %a : f64
    %1 = arith.addf %o, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}
