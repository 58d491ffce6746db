ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
