func.func @f(%a: tensor<4xf32>) { "tm_tensor.scan"() : () -> () return }
