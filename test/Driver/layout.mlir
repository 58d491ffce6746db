// The layout of tensors between convolutions, as the user asks for it.
// RUN: mkdir -p %t.bank
// RUN: fastk-opt %s --bank=%t.bank -o - | FileCheck %s --check-prefix=AS-IS
// RUN: fastk-opt %s --bank=%t.bank --target=cuda:sm_90a -o - | FileCheck %s --check-prefix=AS-IS
// RUN: fastk-opt %s --bank=%t.bank --layout=as-is --target=cuda:sm_90a --winners-from=family -o - \
// RUN:   | FileCheck %s --check-prefix=AS-IS
// RUN: fastk-opt %s --bank=%t.bank --layout=channels-last -o - | FileCheck %s --check-prefix=LAST
// RUN: fastk-opt %s --bank=%t.bank --layout=channels-last -o %t.mlir --remarks-filter=fastk 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: fastk-opt %s --bank=%t.bank --target=cuda:sm_90a --winners-from=family -o - \
// RUN:   | FileCheck %s --check-prefix=LAST
// f32 only where convolutions may round it.
// RUN: fastk-opt %s --bank=%t.bank --layout=channels-last -o - | FileCheck %s --check-prefix=WIDE-AS-IS
// RUN: fastk-opt %s --bank=%t.bank --layout=channels-last --precision=ieee,convolution=tf32 -o - \
// RUN:   | FileCheck %s --check-prefix=WIDE-LAST
// RUN: not fastk-opt %s --layout=nhwc 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown --layout 'nhwc': choose as-is, channels-last or auto

// REMARK: [Passed] channels-last | Category:fastk | Function=halves | Reason="they lie between convolutions", tensors=1

// AS-IS: func.func @halves
// AS-IS: tensor<2x32x6x6xf16>
// AS-IS-NOT: tensor<2x6x6x32xf16>
// AS-IS: func.func @singles
// LAST: func.func @halves
// LAST: tensor<2x6x6x32xf16>
// LAST: func.func @singles
func.func @halves(%x: tensor<2x16x6x6xf16>, %v: tensor<32x16x1x1xf16>, %w: tensor<16x32x1x1xf16>) -> tensor<2x16x6x6xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x32x6x6xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<2x32x6x6xf16>) -> tensor<2x32x6x6xf16>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<2x16x6x6xf16>, tensor<32x16x1x1xf16>)
      outs(%start : tensor<2x32x6x6xf16>) -> tensor<2x32x6x6xf16>
  %e2 = tensor.empty() : tensor<2x16x6x6xf16>
  %start2 = linalg.fill ins(%zero : f16) outs(%e2 : tensor<2x16x6x6xf16>) -> tensor<2x16x6x6xf16>
  %1 = linalg.conv_2d_nchw_fchw ins(%0, %w : tensor<2x32x6x6xf16>, tensor<16x32x1x1xf16>)
      outs(%start2 : tensor<2x16x6x6xf16>) -> tensor<2x16x6x6xf16>
  return %1 : tensor<2x16x6x6xf16>
}

// WIDE-AS-IS: func.func @singles
// WIDE-AS-IS-NOT: tensor<2x6x6x32xf32>
// WIDE-LAST: func.func @singles
// WIDE-LAST: tensor<2x6x6x32xf32>
func.func @singles(%x: tensor<2x16x6x6xf32>, %v: tensor<32x16x1x1xf32>, %w: tensor<16x32x1x1xf32>) -> tensor<2x16x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x6x6xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<2x32x6x6xf32>) -> tensor<2x32x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<2x16x6x6xf32>, tensor<32x16x1x1xf32>)
      outs(%start : tensor<2x32x6x6xf32>) -> tensor<2x32x6x6xf32>
  %e2 = tensor.empty() : tensor<2x16x6x6xf32>
  %start2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x16x6x6xf32>) -> tensor<2x16x6x6xf32>
  %1 = linalg.conv_2d_nchw_fchw ins(%0, %w : tensor<2x32x6x6xf32>, tensor<16x32x1x1xf32>)
      outs(%start2 : tensor<2x16x6x6xf32>) -> tensor<2x16x6x6xf32>
  return %1 : tensor<2x16x6x6xf32>
}
