// RUN: fastk-opt %s --fastk-apply-winners="bank=%S/../Bank/Inputs/v1 winners-from=any" --remarks-filter=fastk 2>%t.hit | FileCheck %s --check-prefix=HIT
// RUN: FileCheck %s --check-prefix=REMARK < %t.hit
// RUN: fastk-opt %s --fastk-apply-winners=bank=%S/../Bank/Inputs/v1 --remarks-filter=fastk 2>%t.elsewhere | FileCheck %s --check-prefix=MISS
// RUN: FileCheck %s --check-prefix=ELSEWHERE < %t.elsewhere
// RUN: rm -rf %t.bank && mkdir -p %t.bank
// RUN: fastk-opt %s --fastk-apply-winners=bank=%t.bank --remarks-filter=fastk 2>%t.miss | FileCheck %s --check-prefix=MISS
// RUN: FileCheck %s --check-prefix=MISSED < %t.miss
// RUN: cp -r %S/../Bank/Inputs/v1/. %t.bank && chmod -R u+w %t.bank
// RUN: sed -i 's/workspace = 0 : i64/workspace = 64 : i64/' %t.bank/host/*/lowering.mlir
// RUN: fastk-opt %s --fastk-apply-winners="bank=%t.bank winners-from=any" --remarks-filter=fastk 2>%t.stale | FileCheck %s --check-prefix=MISS
// RUN: FileCheck %s --check-prefix=STALE < %t.stale
// RUN: not fastk-opt %s --fastk-apply-winners=precision=exact 2>&1 | FileCheck %s --check-prefix=PRECISION

// A hit becomes a call, and the lowering comes into the module with its program.
// HIT-LABEL: func.func @relu
// HIT: %[[R:.*]] = fastk.call @w_0e03df74c38e5906(%{{.*}}) : (tensor<64x128xf32>) -> tensor<64x128xf32>
// HIT: return %[[R]]
// HIT: fastk.lowering @w_0e03df74c38e5906
// HIT-SAME: source = "
// REMARK: remark: [Passed] apply-winner
// REMARK-SAME: Reason="all threads, whole vectors (4.00x the default lowering, measured on test machine with 2 threads)"

// MISS: fastk.workload
// MISS-NOT: fastk.call
// MISSED: remark: [Missed] no-winner

// A winner of another machine is a miss unless it is asked for.
// ELSEWHERE: remark: [Missed] no-winner
// ELSEWHERE-SAME: measured on test machine with 2 threads; this is {{.+}} with {{[0-9]+}} thread{{.*}}(--winners-from=any takes it all the same)

// An edited winner is named with the reason and not applied.
// STALE: remark: [Failure] stale-winner
// STALE-SAME: was sealed with another key, target, precision, language, workspace, digest or plan

// PRECISION: for the --precision option: unknown precision 'exact': choose ieee, tf32 or half

func.func @relu(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = fastk.workload "relu"(%x) : (tensor<64x128xf32>) -> tensor<64x128xf32> {
  ^bb0(%a: tensor<64x128xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x128xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      // The operands are the other way round than in the bank.
      %m = arith.maximumf %zero, %in : f32
      linalg.yield %m : f32
    } -> tensor<64x128xf32>
    fastk.yield %r : tensor<64x128xf32>
  }
  return %0 : tensor<64x128xf32>
}
