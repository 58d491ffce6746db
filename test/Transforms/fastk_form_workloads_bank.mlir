// Formation asks the bank first: the largest region with a winner wins.

// Winners of the matmul alone, of linear + GELU, and of the two layers as one.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{lowerings} = --fastk-lower-workloads --mlir-print-local-scope %s | python3 %S/../Bank/Inputs/make_bank.py
// RUN: fastk-opt --fastk-form-workloads=fusion=op %{lowerings} %t/small --only=reduction
// RUN: fastk-opt --fastk-form-workloads=fusion=greedy %{lowerings} %t/middle --only='reduction.*math.erf'
// RUN: fastk-opt --fastk-form-workloads=fusion=whole %{lowerings} %t/large

// DEFINE: %{bank} = small
// DEFINE: %{fusion} = greedy
// DEFINE: %{form} = fastk-opt %s --fastk-form-workloads="fusion=%{fusion} bank=%t/%{bank} winners-from=any" --fastk-apply-winners="bank=%t/%{bank} winners-from=any" --remarks-filter=fastk

// Only the small one: the epilogue becomes a workload of its own. Twice the same
// bytes.
// RUN: %{form} 2>%t/remarks | FileCheck %s --check-prefix=SMALL
// RUN: FileCheck %s --check-prefix=SPLIT < %t/remarks
// RUN: %{form} -o %t/once.mlir
// RUN: %{form} -o %t/twice.mlir
// RUN: cmp %t/once.mlir %t/twice.mlir
// SMALL-LABEL: func.func @layers
// SMALL: %[[M0:.*]] = fastk.call @w_[[KEY:[0-9a-f]+]](
// SMALL: %[[G0:.*]] = fastk.workload {{.*}}(%[[M0]]
// SMALL:   math.erf
// SMALL: %[[M1:.*]] = fastk.call @w_[[KEY]](
// SMALL: fastk.workload {{.*}}(%[[M1]]
// SMALL-NOT: fastk.call
// SPLIT: split {{.*}}no winner for the whole of it{{.*}}regions=1
// SPLIT: region-of-winner {{.*}}fusion=op

// The same in the driver, which leaves the rest as it came.
// RUN: fastk-opt %s --bank=%t/small --winners-from=any -o %t/driver.mlir 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: FileCheck %s --check-prefix=DRIVER < %t/driver.mlir
// RUN: fastk-opt %s --bank=%t/small --winners-from=any -o %t/again.mlir && cmp %t/driver.mlir %t/again.mlir
// SUMMARY: 4 workloads: 2 hits, 2 misses, 0 stale
// DRIVER: fastk.call
// DRIVER: linalg.generic
// DRIVER: fastk.call
// DRIVER: linalg.generic

// Both: the larger one.
// REDEFINE: %{bank} = both
// RUN: cp -r %t/small %t/both && cp -r %t/middle/. %t/both
// RUN: %{form} 2>%t/remarks | FileCheck %s --check-prefix=MIDDLE
// MIDDLE-LABEL: func.func @layers
// MIDDLE: %[[L0:.*]] = fastk.call @w_[[KEY:[0-9a-f]+]](
// MIDDLE-NEXT: %[[L1:.*]] = fastk.call @w_[[KEY]]({{.*}}%[[L0]]
// MIDDLE-NOT: fastk.{{call|workload}}
// RUN: FileCheck %s --check-prefix=WHOLE-LAYER --allow-empty < %t/remarks
// WHOLE-LAYER-NOT: split

// All three, whatever the mode: the largest.
// REDEFINE: %{bank} = all
// RUN: cp -r %t/both %t/all && cp -r %t/large/. %t/all
// RUN: %{form} 2>%t/remarks | FileCheck %s --check-prefix=LARGE
// RUN: FileCheck %s --check-prefix=TAKEN < %t/remarks
// REDEFINE: %{fusion} = op
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=LARGE
// REDEFINE: %{fusion} = whole
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=LARGE
// LARGE-LABEL: func.func @layers
// LARGE-NEXT: %[[R:.*]] = fastk.call
// LARGE-NEXT: return %[[R]]
// TAKEN: region-of-winner {{.*}}fusion=whole

// Without the largest, fusion=whole is split into the layers, and those of
// fusion=op are put together.
// REDEFINE: %{bank} = both
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=MIDDLE
// REDEFINE: %{fusion} = op
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=MIDDLE

// A bank without a winner changes nothing.
// RUN: mkdir %t/none
// RUN: fastk-opt %s --fastk-form-workloads -o %t/plain.mlir
// RUN: fastk-opt %s --fastk-form-workloads=bank=%t/none -o %t/none.mlir
// RUN: cmp %t/plain.mlir %t/none.mlir
// RUN: fastk-opt %s --fastk-form-workloads="bank=%S/../Bank/Inputs/v1 winners-from=any" -o %t/other.mlir
// RUN: cmp %t/plain.mlir %t/other.mlir

// RUN: not fastk-opt %s --fastk-form-workloads="bank=%t/none winners-from=there" 2>&1 | FileCheck %s --check-prefix=FROM
// FROM: for the --winners-from option: unknown winners-from 'there': choose here or any

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @layers(%x: tensor<16x16xf32>, %a: tensor<16x16xf32>,
                  %b: tensor<16x16xf32>, %bias: tensor<16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %bias : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %s = arith.addf %in, %add : f32
    %g = math.erf %s : f32
    %h = arith.mulf %g, %half : f32
    linalg.yield %h : f32
  } -> tensor<16x16xf32>
  %2 = linalg.matmul ins(%1, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%2, %bias : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %s = arith.addf %in, %add : f32
    %g = math.erf %s : f32
    %h = arith.mulf %g, %half : f32
    linalg.yield %h : f32
  } -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}
