// The largest of short windows, which are reduced side by side: what they have of equal values, zeros of both signs,
// infinities and NaN is what one after the other has.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: python3 %S/Inputs/extremes.py draw %t/lines.npy 19 3 302
// RUN: fastk-run %s --bank=%t/bank --entry=lines --inputs=%t/lines.npy --outputs=%t/lines
// RUN: python3 %S/Inputs/extremes.py windows %t/lines.npy %t/lines/out0.npy 6 3 | FileCheck %s
// RUN: python3 %S/Inputs/extremes.py draw %t/volumes.npy 17 2 7 9 43
// RUN: fastk-run %s --bank=%t/bank --entry=volumes --inputs=%t/volumes.npy --outputs=%t/volumes
// RUN: python3 %S/Inputs/extremes.py windows %t/volumes.npy %t/volumes/out0.npy 3 2 | FileCheck %s
// CHECK: all {{[1-9][0-9]*}} values are right
// RUN: fastk-run %s --bank=%t/bank --entry=means --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok

// The windows of a line are vectors.
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm -o - | FileCheck %s --check-prefix=VECTORS
// VECTORS-DAG: call <{{[0-9]+}} x float> @llvm.maximum
// VECTORS-DAG: shufflevector {{.*}} <i32 0, i32 3, i32 6, i32 9

#line = affine_map<(n, c, x, k) -> (n, c, x * 3 + k)>
#line_window = affine_map<(n, c, x, k) -> (k)>
#line_place = affine_map<(n, c, x, k) -> (n, c, x)>
func.func @lines(%x: tensor<19x3x302xf32>) -> tensor<19x3x99xf32> {
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<19x3x99xf32>
  %window = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%least : f32) outs(%empty : tensor<19x3x99xf32>) -> tensor<19x3x99xf32>
  %most = linalg.generic {indexing_maps = [#line, #line_window, #line_place], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %window : tensor<19x3x302xf32>, tensor<6xf32>) outs(%init : tensor<19x3x99xf32>) {
  ^bb0(%a: f32, %w: f32, %m: f32):
    %0 = arith.maximumf %a, %m : f32
    linalg.yield %0 : f32
  } -> tensor<19x3x99xf32>
  return %most : tensor<19x3x99xf32>
}

#volume = affine_map<(n, c, z, y, x, k, l, m) -> (n, c, z * 2 + k, y * 2 + l, x * 2 + m)>
#volume_window = affine_map<(n, c, z, y, x, k, l, m) -> (k, l, m)>
#volume_place = affine_map<(n, c, z, y, x, k, l, m) -> (n, c, z, y, x)>
func.func @volumes(%x: tensor<17x2x7x9x43xf32>) -> tensor<17x2x3x4x21xf32> {
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<17x2x3x4x21xf32>
  %window = tensor.empty() : tensor<3x3x3xf32>
  %init = linalg.fill ins(%least : f32) outs(%empty : tensor<17x2x3x4x21xf32>) -> tensor<17x2x3x4x21xf32>
  %most = linalg.generic {indexing_maps = [#volume, #volume_window, #volume_place],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %window : tensor<17x2x7x9x43xf32>, tensor<3x3x3xf32>) outs(%init : tensor<17x2x3x4x21xf32>) {
  ^bb0(%a: f32, %w: f32, %m: f32):
    %0 = arith.maximumf %a, %m : f32
    linalg.yield %0 : f32
  } -> tensor<17x2x3x4x21xf32>
  return %most : tensor<17x2x3x4x21xf32>
}

// What comes after the windows runs with them.
func.func @means(%x: tensor<19x3x302xf32>) -> tensor<19x3x99xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %empty = tensor.empty() : tensor<19x3x99xf32>
  %window = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<19x3x99xf32>) -> tensor<19x3x99xf32>
  %sum = linalg.generic {indexing_maps = [#line, #line_window, #line_place], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %window : tensor<19x3x302xf32>, tensor<6xf32>) outs(%init : tensor<19x3x99xf32>) {
  ^bb0(%a: f32, %w: f32, %s: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<19x3x99xf32>
  %mean = linalg.map ins(%sum : tensor<19x3x99xf32>) outs(%empty : tensor<19x3x99xf32>) (%s: f32, %o: f32) {
    %0 = arith.divf %s, %six : f32
    linalg.yield %0 : f32
  }
  return %mean : tensor<19x3x99xf32>
}
