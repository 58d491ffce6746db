func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^first, ^second
^first:
  return %a : tensor<4xf32>
^second:
  return %b : tensor<4xf32>
}
