// RUN: fastk-opt %s --pass-pipeline='builtin.module(func.func(fastk-raise-variances))' --split-input-file --mlir-print-local-scope | FileCheck %s
// RUN: fastk-opt %s --fastk-form-workloads --split-input-file | FileCheck %s --check-prefix=FORM
// RUN: fastk-opt %s --fastk-raise-variances --split-input-file --remarks-filter=fastk -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-COUNT-2: remark: [Passed] raise-variance | Category:fastk | Function={{mean_and_variance|mean_is_wide_too}} | Reason="f32 instead of f64, as the mean is"
// REMARK-NOT:     raise-variance

// The variance of a norm, beside the mean of the same rows: one mean, and no f64.

// CHECK-LABEL: func.func @mean_and_variance(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xf32>
// CHECK-NOT:   extf
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[X]] : tensor<?x8xf32>)
// CHECK:         arith.addf
// CHECK:       %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<?xf32>)
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:       %[[CENTRED:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] : tensor<?x8xf32>, tensor<?xf32>)
// CHECK:         arith.subf
// CHECK:       %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%[[CENTRED]], %[[CENTRED]] :
// CHECK:         arith.mulf
// CHECK:       %[[SUM_OF_SQUARES:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[SQUARES]] :
// CHECK:       %[[VARIANCE:.*]] = linalg.generic {{.*}} ins(%[[SUM_OF_SQUARES]] : tensor<?xf32>)
// CHECK:         arith.divf
// CHECK-NOT:   linalg.generic
// CHECK:       return %[[MEAN]], %[[VARIANCE]]

// Forming workloads does the same.
// FORM-LABEL: func.func @mean_and_variance(
// FORM-NOT:   f64
// FORM:       return

func.func @mean_and_variance(%x: tensor<?x8xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %n = arith.constant 8.0 : f32
  %n64 = arith.constant 8.0 : f64
  %e = tensor.empty(%rows) : tensor<?xf32>
  %e64 = tensor.empty(%rows) : tensor<?xf64>
  %x64 = tensor.empty(%rows) : tensor<?x8xf64>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f32, %o: f64):
    %b = arith.extf %a0 : f32 to f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %start64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<?xf64>) -> tensor<?xf64>
  %sum64 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %mean64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum64 : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean64 : tensor<?x8xf64>, tensor<?xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.subf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%centred, %centred : tensor<?x8xf64>, tensor<?x8xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.mulf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %sum_of_squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum_of_squares : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%variance64 : tensor<?xf64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f64, %o: f32):
    %b = arith.truncf %a0 : f64 to f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x8xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.addf %a0, %o : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.divf %a0, %n : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %mean, %variance : tensor<?xf32>, tensor<?xf32>
}

// -----

// Nobody computes the mean in f32: the variance may be meant to be wide.

// CHECK-LABEL: func.func @variance_alone(
// CHECK:         arith.extf
// CHECK:         arith.truncf
// FORM-LABEL: func.func @variance_alone(
// FORM:         f64
func.func @variance_alone(%x: tensor<?x8xf32>) -> (tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %n = arith.constant 8.0 : f32
  %n64 = arith.constant 8.0 : f64
  %e = tensor.empty(%rows) : tensor<?xf32>
  %e64 = tensor.empty(%rows) : tensor<?xf64>
  %x64 = tensor.empty(%rows) : tensor<?x8xf64>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f32, %o: f64):
    %b = arith.extf %a0 : f32 to f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %start64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<?xf64>) -> tensor<?xf64>
  %sum64 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %mean64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum64 : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean64 : tensor<?x8xf64>, tensor<?xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.subf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%centred, %centred : tensor<?x8xf64>, tensor<?x8xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.mulf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %sum_of_squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum_of_squares : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%variance64 : tensor<?xf64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f64, %o: f32):
    %b = arith.truncf %a0 : f64 to f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %variance : tensor<?xf32>
}

// -----

// f32 does not have this number.

// CHECK-LABEL: func.func @other_count(
// CHECK:         arith.extf
// CHECK:         arith.truncf
// FORM-LABEL: func.func @other_count(
// FORM:         f64
func.func @other_count(%x: tensor<?x8xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %n = arith.constant 8.0 : f32
  %n64 = arith.constant 8.1 : f64
  %e = tensor.empty(%rows) : tensor<?xf32>
  %e64 = tensor.empty(%rows) : tensor<?xf64>
  %x64 = tensor.empty(%rows) : tensor<?x8xf64>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f32, %o: f64):
    %b = arith.extf %a0 : f32 to f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %start64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<?xf64>) -> tensor<?xf64>
  %sum64 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %mean64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum64 : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean64 : tensor<?x8xf64>, tensor<?xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.subf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%centred, %centred : tensor<?x8xf64>, tensor<?x8xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.mulf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %sum_of_squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum_of_squares : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%variance64 : tensor<?xf64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f64, %o: f32):
    %b = arith.truncf %a0 : f64 to f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x8xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.addf %a0, %o : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.divf %a0, %n : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %mean, %variance : tensor<?xf32>, tensor<?xf32>
}

// -----

// What else is wide stays so.

// CHECK-LABEL: func.func @mean_is_wide_too(
// CHECK:         arith.extf
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f64
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:         arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     arith.truncf
// CHECK:         return
// FORM-LABEL: func.func @mean_is_wide_too(
// FORM:         f64
func.func @mean_is_wide_too(%x: tensor<?x8xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %n = arith.constant 8.0 : f32
  %n64 = arith.constant 8.0 : f64
  %e = tensor.empty(%rows) : tensor<?xf32>
  %e64 = tensor.empty(%rows) : tensor<?xf64>
  %x64 = tensor.empty(%rows) : tensor<?x8xf64>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f32, %o: f64):
    %b = arith.extf %a0 : f32 to f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %start64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<?xf64>) -> tensor<?xf64>
  %sum64 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %mean64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum64 : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean64 : tensor<?x8xf64>, tensor<?xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.subf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%centred, %centred : tensor<?x8xf64>, tensor<?x8xf64>) outs(%x64 : tensor<?x8xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %b = arith.mulf %a0, %a1 : f64
    linalg.yield %b : f64
  } -> tensor<?x8xf64>
  %sum_of_squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<?x8xf64>) outs(%start64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.addf %a0, %o : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum_of_squares : tensor<?xf64>) outs(%e64 : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %b = arith.divf %a0, %n64 : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %variance = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%variance64 : tensor<?xf64>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f64, %o: f32):
    %b = arith.truncf %a0 : f64 to f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x8xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.addf %a0, %o : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %b = arith.divf %a0, %n : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %mean, %variance, %mean64 : tensor<?xf32>, tensor<?xf32>, tensor<?xf64>
}
