// Products with a matrix that lies across: its panels are turned in registers, a
// square at a time. 70 rows are panels and a part of one, 37 deep is squares and
// a part of one; two columns of panels, and more depth than is packed at once.
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --bank=%t --emit=llvm -o %t/model.ll
// RUN: FileCheck %s --input-file=%t/model.ll
// CHECK: shufflevector <[[#LANES:]] x float>
// RUN: fastk-run %s --bank=%t --entry=odd --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=deep --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=halves --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=doubles --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok
#row = affine_map<(m, n, k) -> (m, k)>
#across = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @odd(%a: tensor<41x37xf32>, %b: tensor<70x37xf32>) -> tensor<41x70xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<41x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<41x70xf32>) -> tensor<41x70xf32>
  %c = linalg.matmul indexing_maps = [#row, #across, #out] ins(%a, %b : tensor<41x37xf32>, tensor<70x37xf32>) outs(%init : tensor<41x70xf32>) -> tensor<41x70xf32>
  return %c : tensor<41x70xf32>
}
func.func @deep(%a: tensor<5x600xf32>, %b: tensor<2100x600xf32>) -> tensor<5x2100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5x2100xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x2100xf32>) -> tensor<5x2100xf32>
  %c = linalg.matmul indexing_maps = [#row, #across, #out] ins(%a, %b : tensor<5x600xf32>, tensor<2100x600xf32>) outs(%init : tensor<5x2100xf32>) -> tensor<5x2100xf32>
  return %c : tensor<5x2100xf32>
}
func.func @halves(%a: tensor<41x37xf16>, %b: tensor<70x37xf16>) -> tensor<41x70xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<41x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<41x70xf32>) -> tensor<41x70xf32>
  %c = linalg.matmul indexing_maps = [#row, #across, #out] ins(%a, %b : tensor<41x37xf16>, tensor<70x37xf16>) outs(%init : tensor<41x70xf32>) -> tensor<41x70xf32>
  return %c : tensor<41x70xf32>
}
func.func @doubles(%a: tensor<41x37xf64>, %b: tensor<70x37xf64>) -> tensor<41x70xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<41x70xf64>
  %init = linalg.fill ins(%zero : f64) outs(%empty : tensor<41x70xf64>) -> tensor<41x70xf64>
  %c = linalg.matmul indexing_maps = [#row, #across, #out] ins(%a, %b : tensor<41x37xf64>, tensor<70x37xf64>) outs(%init : tensor<41x70xf64>) -> tensor<41x70xf64>
  return %c : tensor<41x70xf64>
}
