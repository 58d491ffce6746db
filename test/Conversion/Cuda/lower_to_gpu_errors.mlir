// RUN: fastk-opt %s --split-input-file --fastk-lower-to-gpu --verify-diagnostics
// RUN: not fastk-opt %s --fastk-lower-to-gpu=target=cuda:sm_70 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: target 'cuda:sm_70' is no GPU that fastk knows: write cuda:sm_80 or later (required by 'fastk-lower-to-gpu')
// RUN: not fastk-opt %s --fastk-gpu-to-ptx=target=host 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: target 'host' is no GPU that fastk knows: write cuda:sm_80 or later (required by 'fastk-gpu-to-ptx')

// expected-error @+1 {{is not one function on tensors: fastk-extract-kernel makes one of a lowering (required by 'fastk-lower-to-gpu')}}
module {
  func.func @f(%x: memref<4xf32>) {
    return
  }
}

// -----

// expected-error @+1 {{'fastk.vector_threads' = 77 must be a multiple of 32 from 32 to 1024 (required by 'fastk.kernel_choices')}}
func.func @chosen(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fastk.vector_threads = 77 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
