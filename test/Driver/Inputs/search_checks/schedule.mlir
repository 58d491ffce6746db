module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%function: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
