func.func @f(%a: !torch.vtensor<[4],f32>) { "torch.x"() : () -> () return }
