func.func @forward(%x: tensor<200xf64>, %i: tensor<200xi64>) -> (tensor<200xf64>, tensor<200xi64>) {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<200xf64>, tensor<200xi64>) {
  ^bb0(%a: f64, %b: f64, %c: i64, %d: i64):
    %t = arith.cmpf ole, %a, %b : f64
    tm_tensor.yield %t : i1
  } -> tensor<200xf64>, tensor<200xi64>
  return %s#0, %s#1 : tensor<200xf64>, tensor<200xi64>
}
