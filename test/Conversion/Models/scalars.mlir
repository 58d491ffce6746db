// Numbers of a function go through pointers, as tensors of rank 0 do, and the
// signature says which is which.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm -o %t.ll
// RUN: FileCheck %s < %t.ll
// CHECK: @fastk_signature_forward = {{.*}}constant
// CHECK-SAME: \22inputs\22:[{\22dtype\22:\22i64\22,\22scalar\22:true,\22shape\22:[]},{\22dtype\22:\22i64\22,\22shape\22:[]}]
// CHECK-SAME: \22outputs\22:[{\22dtype\22:\22f64\22,\22scalar\22:true,\22shape\22:[]},{\22dtype\22:\22i1\22,\22scalar\22:true,\22shape\22:[]}]

// What has no form outside is refused.
// RUN: sed 's/ -> (f64, i1)/ -> (f64, index)/; s/return .*/return %f, %i : f64, index/; s/.*cmpi eq.*/%i = arith.index_cast %n : i64 to index/' %s > %t/index.mlir
// RUN: not fastk-opt %t/index.mlir --bank=%t/bank --emit=obj -o %t.o 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: index.mlir:{{.*}}: error: takes or returns 'index': the functions of a compiled model take and return ranked tensors

func.func @forward(%n: i64, %t: tensor<i64>) -> (f64, i1) {
  %m = tensor.extract %t[] : tensor<i64>
  %s = arith.addi %n, %m : i64
  %f = arith.sitofp %s : i64 to f64
  %equal = arith.cmpi eq, %n, %m : i64
  return %f, %equal : f64, i1
}
