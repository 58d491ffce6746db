// A model and its kernels have one plan and one allocation: what a kernel
// computes in between lies where nothing else is alive while it runs. Each of
// these products needs a padded copy of its input; no plan can take less than
// the largest live set, and this one does not take more.
// RUN: rm -rf %t && mkdir %t
// RUN: fastk-opt %s --bank=%t --emit=llvm --remarks-filter=fastk > %t/model.ll 2> %t/remarks
// RUN: FileCheck %s --input-file=%t/remarks
// CHECK-DAG: buffer-plan {{.*}} Function=w_{{[0-9a-f]+}} | alive=6400, buffers=1, bytes=6400
// CHECK-DAG: buffer-plan {{.*}} Function=fastk.model.forward | alive=[[ALIVE:[0-9]+]], buffers={{[0-9]+}}, bytes=[[ALIVE]]{{ *$}}
// RUN: FileCheck %s --check-prefix=LLVM --input-file=%t/model.ll
// LLVM: define {{.*}}@forward(
// LLVM: call {{.*}}@aligned_alloc(
// LLVM-NOT: call {{.*}}@aligned_alloc(
// LLVM: define {{.*}}@forward_packed(
// RUN: fastk-run %s --bank=%t --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok
!image = tensor<1x16x8x8xf32>
!padded = tensor<1x16x10x10xf32>
!weights = tensor<16x16x3x3xf32>
func.func @forward(%x: !image, %w: !weights, %v: !weights) -> !image {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !image
  %init = linalg.fill ins(%zero : f32) outs(%empty : !image) -> !image
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : !image to !padded
  %y = linalg.conv_2d_nchw_fchw ins(%p, %w : !padded, !weights) outs(%init : !image) -> !image
  %q = tensor.pad %y low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : !image to !padded
  %z = linalg.conv_2d_nchw_fchw ins(%q, %v : !padded, !weights) outs(%init : !image) -> !image
  return %z : !image
}
