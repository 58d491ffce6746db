// --check takes torch-mlir's own output, whose constants lie beside the module.
// RUN: mkdir -p %t.bank
// RUN: fastk-run %s --bank=%t.bank --check | FileCheck %s
// CHECK: check: result 0: {{.*}} (ieee): ok
// CHECK: check: result 1: {{.*}}: ok
// RUN: fastk-run %s --bank=%t.bank --oracle | FileCheck %s --check-prefix=ORACLE
// ORACLE: result 0: 2x3xf64

// Without the bytes it cannot compile, and --check has nothing to add.
// RUN: sed '/^{-#/,$d' %s > %t.cut.mlir
// RUN: not fastk-run %t.cut.mlir --bank=%t.bank --check 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: has not the 24 bytes of data that it names: the file was cut or printed without its resources

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @forward(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xi64>) {
  %w = arith.constant dense_resource<torch_tensor_2_3_torch.float32> : tensor<2x3xf32>
  %h = arith.constant dense_resource<torch_tensor_3_torch.float16> : tensor<3xf16>
  %i = arith.constant dense_resource<torch_tensor_3_torch.int64> : tensor<3xi64>
  %e = tensor.empty() : tensor<2x3xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %h : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf16>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f16, %o: f32):
    %d = arith.extf %c : f16 to f32
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %d : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %0, %i : tensor<2x3xf32>, tensor<3xi64>
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_2_3_torch.float32: "0x040000000000803F000000400000404000008040CDCCCC3D9A99993E",
      torch_tensor_3_torch.float16: "0x04000000003C00406666",
      torch_tensor_3_torch.int64: "0x08000000010000000000000002000000000000000300000000000000"
    }
  }
#-}
