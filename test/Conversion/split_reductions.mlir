// Long reductions with little beside them are cut into pieces, which threads reduce beside
// each other: the same pieces with any number of threads, so the same bytes.
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-run %s --bank=%t --entry=all --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=prime --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=columns --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=wide --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=extremes --check | FileCheck %s --check-prefix=RIGHT
// RUN: fastk-run %s --bank=%t --entry=product --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok
// RUN: env OMP_NUM_THREADS=1 fastk-run %s --bank=%t --entry=prime --outputs %t/1
// RUN: env OMP_NUM_THREADS=3 fastk-run %s --bank=%t --entry=prime --outputs %t/3
// RUN: cmp %t/1/out0.npy %t/3/out0.npy
// RUN: env OMP_NUM_THREADS=1 fastk-run %s --bank=%t --entry=product --outputs %t/1
// RUN: env OMP_NUM_THREADS=3 fastk-run %s --bank=%t --entry=product --outputs %t/3
// RUN: cmp %t/1/out0.npy %t/3/out0.npy
#all = affine_map<(r, c) -> (r, c)>
#none = affine_map<(r, c) -> ()>
#column = affine_map<(r, c) -> (c)>
func.func @all(%x: tensor<1300x900xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1300x900xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
// A number of rows that no number of pieces divides.
func.func @prime(%x: tensor<1301x905xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1301x905xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
func.func @columns(%x: tensor<1301x190xf32>) -> tensor<190xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<190xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<190xf32>) -> tensor<190xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1301x190xf32>) outs(%init : tensor<190xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<190xf32>
  return %sum : tensor<190xf32>
}
// Too few rows for pieces of them, and so many columns that there are pieces of these.
func.func @wide(%x: tensor<70x5003xf32>) -> tensor<5003xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5003xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5003xf32>) -> tensor<5003xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<70x5003xf32>) outs(%init : tensor<5003xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<5003xf32>
  return %sum : tensor<5003xf32>
}
// Two results of one loop nest, each with what changes nothing to begin with.
func.func @extremes(%x: tensor<1300x900xf32>) -> (tensor<f32>, tensor<f32>) {
  %low = arith.constant -1.0e+30 : f32
  %high = arith.constant 1.0e+30 : f32
  %empty = tensor.empty() : tensor<f32>
  %least = linalg.fill ins(%low : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %most = linalg.fill ins(%high : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %r:2 = linalg.generic {indexing_maps = [#all, #none, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1300x900xf32>) outs(%least, %most : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %s: f32, %t: f32):
    %0 = arith.maximumf %s, %a : f32
    %1 = arith.minimumf %a, %t : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
// A product of one row is a sum of rows with factors.
func.func @product(%a: tensor<1x2011xf32>, %b: tensor<2011x324xf32>) -> tensor<1x324xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x324xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x324xf32>) -> tensor<1x324xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1x2011xf32>, tensor<2011x324xf32>) outs(%init : tensor<1x324xf32>) -> tensor<1x324xf32>
  return %c : tensor<1x324xf32>
}
