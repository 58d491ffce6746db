// State of a model: what was loaded stays as it was when it is stored to.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy | FileCheck %s
// CHECK: () [7]
// CHECK: () [8]
// CHECK: () [9]

// For a GPU it is memory that kernels read and write.
// RUN: fastk-opt %s --target=cuda:sm_90a --bank=%t/bank --emit=llvm -o - | python3 %S/../../Inputs/print_device_model.py | FileCheck %s --check-prefix=CUDA
// CUDA: "arguments":[{{.*}}"in0"
// CUDA: "arguments":[{{.*}}"in0"

ml_program.global private mutable @count(dense<7> : tensor<i64>) : tensor<i64>

func.func @forward() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %a = ml_program.global_load @count : tensor<i64>
  %one = arith.constant 1 : i64
  %x = tensor.extract %a[] : tensor<i64>
  %y = arith.addi %x, %one : i64
  %b = tensor.insert %y into %a[] : tensor<i64>
  ml_program.global_store @count = %b : tensor<i64>
  %c = ml_program.global_load @count : tensor<i64>
  %z = tensor.extract %c[] : tensor<i64>
  %w = arith.addi %z, %one : i64
  %d = tensor.insert %w into %c[] : tensor<i64>
  ml_program.global_store @count = %d : tensor<i64>
  return %a, %c, %d : tensor<i64>, tensor<i64>, tensor<i64>
}
