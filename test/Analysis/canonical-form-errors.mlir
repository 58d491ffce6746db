// RUN: fastk-opt %s --fastk-canonicalize-workloads --allow-unregistered-dialect -split-input-file -verify-diagnostics

func.func @side_effect(%x: tensor<4xf32>) {
  fastk.workload "w"(%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    %c = arith.constant 1.0 : f32
    // expected-error @+1 {{'vector.print' op has side effects: a workload computes tensors from tensors (required by 'fastk.canonical_form')}}
    vector.print %c : f32
    fastk.yield
  }
  return
}

// -----

func.func @unregistered(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{'torch.thing' op is not registered, so what it does is not known: leave it outside the workload (required by 'fastk.canonical_form')}}
    %0 = "torch.thing"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @blocks(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x, %p) : (tensor<4xf32>, i1) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %q: i1):
    // expected-error @+1 {{'scf.execute_region' op has a region of several blocks: lift it to scf (required by 'fastk.canonical_form')}}
    %0 = scf.execute_region -> tensor<4xf32> {
      cf.cond_br %q, ^bb1, ^bb1
    ^bb1:
      scf.yield %a : tensor<4xf32>
    }
    fastk.yield %0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @missing_bytes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @+1 {{'arith.constant' op has no bytes behind its resource: import the model with its constants (required by 'fastk.canonical_form')}}
    %c = arith.constant dense_resource<absent> : tensor<4xf32>
    %0 = linalg.mul ins(%c, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
