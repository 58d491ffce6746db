ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
func.func @f(%a: tensor<4xf32>) -> tensor<i64> {
  %0 = ml_program.global_load @seed : tensor<i64>
  ml_program.global_store @seed = %0 : tensor<i64>
  return %0 : tensor<i64>
}
func.func @g() -> tensor<i64> {
  %0 = ml_program.global_load @seed : tensor<i64>
  ml_program.global_store @seed = %0 : tensor<i64>
  return %0 : tensor<i64>
}
