// A scan is part of no workload of fusion=greedy, but where a bank has a winner for it: with what is elementwise around it,
// before it, behind it, or without.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{only} = unset
// DEFINE: %{bank} = unset
// DEFINE: %{make} = fastk-opt %S/Inputs/scan_regions.mlir --fastk-form-workloads=fusion=whole --fastk-lower-workloads --mlir-print-local-scope | python3 %S/../Bank/Inputs/make_bank.py %t/%{bank} --only='%{only}'
// DEFINE: %{form} = fastk-opt %s --fastk-form-workloads="bank=%t/%{bank} winners-from=any" --remarks-filter=fastk

// REDEFINE: %{bank} = around
// REDEFINE: %{only} = math.exp.*tm_tensor.scan.*arith.mulf
// RUN: %{make}
// RUN: %{form} 2>%t/remarks | FileCheck %s --check-prefix=AROUND
// RUN: FileCheck %s --check-prefix=TAKEN < %t/remarks
// TAKEN-NOT: left-outside {{.*}}Function=layer
// TAKEN: region-of-winner {{.*}}fusion=scan, workload=exp_scan_scale
// AROUND-LABEL: func.func @layer(
// AROUND: %[[P:.*]] = fastk.workload "matmul"
// AROUND: %[[S:.*]] = fastk.workload "exp_scan_scale"(%[[P]])
// AROUND: tm_tensor.scan
// AROUND: fastk.workload "sum"(%[[S]])
// AROUND-LABEL: func.func @product_behind(
// AROUND: fastk.workload "matmul_exp"
// AROUND: {{^    %[0-9:]+}} = tm_tensor.scan
// AROUND: fastk.workload "matmul_mul"

// What reads a product, too, is the end of the product.

// REDEFINE: %{bank} = before
// REDEFINE: %{only} = ^(?!.*arith.mulf).*math.exp.*tm_tensor.scan
// RUN: %{make}
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=BEFORE
// BEFORE-LABEL: func.func @layer(
// BEFORE: %[[P:.*]] = fastk.workload "matmul"
// BEFORE: %[[S:.*]] = fastk.workload "exp_scan"(%[[P]])
// BEFORE: fastk.workload "scale_sum"(%[[S]])
// BEFORE-LABEL: func.func @product_behind(
// BEFORE: %[[P:.*]] = fastk.workload "matmul"
// BEFORE: %[[S:.*]] = fastk.workload "exp_scan"(%[[P]])
// BEFORE: fastk.workload "matmul_mul"({{.*}}%[[S]]

// REDEFINE: %{bank} = after
// REDEFINE: %{only} = ^(?!.*math.exp).*tm_tensor.scan.*arith.mulf
// RUN: %{make}
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=AFTER
// AFTER-LABEL: func.func @layer(
// AFTER: %[[P:.*]] = fastk.workload "matmul_exp"
// AFTER: %[[S:.*]] = fastk.workload "scan_scale"(%[[P]])
// AFTER: fastk.workload "sum"(%[[S]])
// AFTER-LABEL: func.func @product_behind(
// AFTER: {{^    %[0-9:]+}} = tm_tensor.scan
// AFTER-LABEL: func.func @two(
// AFTER: %[[P:.*]] = fastk.workload "exp"
// AFTER: %[[S:.*]] = fastk.workload "scan_scale"(%[[P]])
// AFTER: {{^    %[0-9:]+}} = tm_tensor.scan

// Without what is around them, and several.

// REDEFINE: %{bank} = alone
// REDEFINE: %{only} = ^(?!.*(math.exp|arith.mulf)).*tm_tensor.scan
// RUN: %{make}
// RUN: %{form} 2>/dev/null | FileCheck %s --check-prefix=ALONE
// RUN: %{form} 2>/dev/null | fastk-opt --fastk-inline-workloads | FileCheck %s --check-prefix=INLINED
// ALONE-LABEL: func.func @layer(
// ALONE: %[[P:.*]] = fastk.workload "matmul_exp"
// ALONE: %[[S:.*]] = fastk.workload "scan"(%[[P]])
// ALONE: fastk.workload "scale_sum"(%[[S]])
// ALONE-LABEL: func.func @two(
// ALONE: fastk.workload "exp"
// ALONE: fastk.workload "scan"
// ALONE: fastk.workload "scale"
// ALONE: fastk.workload "scan"
// ALONE: return
// INLINED-COUNT-4: tm_tensor.scan
// INLINED-NOT: tm_tensor.scan

// A workload of fusion=whole is split where a bank has a part of it that has a scan.
// RUN: fastk-opt %s --fastk-form-workloads="fusion=whole bank=%t/around winners-from=any" 2>/dev/null | FileCheck %s --check-prefix=WHOLE
// WHOLE-LABEL: func.func @layer(
// WHOLE: %[[P:.*]] = fastk.workload "matmul"
// WHOLE: %[[S:.*]] = fastk.workload "exp_scan_scale"(%[[P]])
// WHOLE: fastk.workload "sum"(%[[S]])

#full = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

func.func @layer(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = linalg.exp ins(%p : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%y#0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%r : tensor<8x16xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %t : tensor<8xf32>
}

func.func @product_behind(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = linalg.exp ins(%p : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %q = linalg.matmul ins(%x, %v : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.mul ins(%y#0, %q : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @two(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %n = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %l = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%l : tensor<8xf32>) -> tensor<8xf32>
  %y:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%n : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%y#0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<8x16xf32>
  %z:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%r : tensor<8x16xf32>)
      outs(%f, %s : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %next = arith.addf %sum, %in : f32
    tm_tensor.yield %next : f32
  } -> tensor<8x16xf32>, tensor<8xf32>
  return %z#0 : tensor<8x16xf32>
}
