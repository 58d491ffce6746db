// Where the largest of a row is: looked for in pieces, of equal ones the first, and of a row with a NaN what came before
// it, as one element after the other has it.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: python3 %S/Inputs/extremes.py draw %t/x.npy 23 1301
// RUN: fastk-run %s --bank=%t/bank --entry=most --inputs=%t/x.npy --outputs=%t/most
// RUN: python3 %S/Inputs/extremes.py most %t/x.npy %t/most/out0.npy %t/most/out1.npy | FileCheck %s
// RUN: fastk-run %s --bank=%t/bank --entry=least --inputs=%t/x.npy --outputs=%t/least
// RUN: python3 %S/Inputs/extremes.py least %t/x.npy %t/least/out1.npy %t/least/out0.npy | FileCheck %s
// RUN: python3 %S/Inputs/extremes.py draw %t/short.npy 23 37
// RUN: fastk-run %s --bank=%t/bank --entry=short --inputs=%t/short.npy --outputs=%t/short
// RUN: python3 %S/Inputs/extremes.py most %t/short.npy %t/short/out0.npy %t/short/out1.npy | FileCheck %s
// CHECK-COUNT-2: all 23 values are right

// Integers that are 0 or 1, of which many are equal.
// RUN: fastk-run %s --bank=%t/bank --entry=integers --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: result 1: {{.*}}: ok

// Both steps of a piece are vectors.
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm -o - | FileCheck %s --check-prefix=VECTORS
// VECTORS: call <{{[0-9]+}} x float> @llvm.maximum
// VECTORS: fcmp oeq <{{[0-9]+}} x float>

#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @most(%x: tensor<23x1301xf32>) -> (tensor<23xf32>, tensor<23xi64>) {
  %first = arith.constant 0 : i64
  %init = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<23xf32>
  %ei = tensor.empty() : tensor<23xi64>
  %v = linalg.fill ins(%init : f32) outs(%e : tensor<23xf32>) -> tensor<23xf32>
  %p = linalg.fill ins(%first : i64) outs(%ei : tensor<23xi64>) -> tensor<23xi64>
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<23x1301xf32>) outs(%v, %p : tensor<23xf32>, tensor<23xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  } -> (tensor<23xf32>, tensor<23xi64>)
  return %r#0, %r#1 : tensor<23xf32>, tensor<23xi64>
}
// Other operands, another order.
func.func @least(%x: tensor<23x1301xf32>) -> (tensor<23xi32>, tensor<23xf32>) {
  %first = arith.constant 0 : i32
  %init = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<23xf32>
  %ei = tensor.empty() : tensor<23xi32>
  %v = linalg.fill ins(%init : f32) outs(%e : tensor<23xf32>) -> tensor<23xf32>
  %p = linalg.fill ins(%first : i32) outs(%ei : tensor<23xi32>) -> tensor<23xi32>
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<23x1301xf32>) outs(%p, %v : tensor<23xi32>, tensor<23xf32>) {
  ^bb0(%a: f32, %k: i32, %m: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %c = arith.cmpf ogt, %m, %a : f32
    %1 = arith.select %c, %n, %k : i32
    %0 = arith.minimumf %m, %a : f32
    linalg.yield %1, %0 : i32, f32
  } -> (tensor<23xi32>, tensor<23xf32>)
  return %r#0, %r#1 : tensor<23xi32>, tensor<23xf32>
}
// Less than a piece, and more than what is unrolled.
func.func @short(%x: tensor<23x37xf32>) -> (tensor<23xf32>, tensor<23xi64>) {
  %first = arith.constant 0 : i64
  %init = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<23xf32>
  %ei = tensor.empty() : tensor<23xi64>
  %v = linalg.fill ins(%init : f32) outs(%e : tensor<23xf32>) -> tensor<23xf32>
  %p = linalg.fill ins(%first : i64) outs(%ei : tensor<23xi64>) -> tensor<23xi64>
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<23x37xf32>) outs(%v, %p : tensor<23xf32>, tensor<23xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf olt, %m, %a : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  } -> (tensor<23xf32>, tensor<23xi64>)
  return %r#0, %r#1 : tensor<23xf32>, tensor<23xi64>
}
func.func @integers(%x: tensor<23x1301xi32>) -> (tensor<23xi32>, tensor<23xi64>) {
  %first = arith.constant 0 : i64
  %init = arith.constant -2147483648 : i32
  %e = tensor.empty() : tensor<23xi32>
  %ei = tensor.empty() : tensor<23xi64>
  %v = linalg.fill ins(%init : i32) outs(%e : tensor<23xi32>) -> tensor<23xi32>
  %p = linalg.fill ins(%first : i64) outs(%ei : tensor<23xi64>) -> tensor<23xi64>
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<23x1301xi32>) outs(%v, %p : tensor<23xi32>, tensor<23xi64>) {
  ^bb0(%a: i32, %m: i32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maxsi %a, %m : i32
    %c = arith.cmpi sgt, %a, %m : i32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : i32, i64
  } -> (tensor<23xi32>, tensor<23xi64>)
  return %r#0, %r#1 : tensor<23xi32>, tensor<23xi64>
}
