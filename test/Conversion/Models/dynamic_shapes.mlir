// Dimensions that are known at run time only: in and out, computed from data, through control flow.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/out.so
// RUN: python3 %S/../Inputs/call_dynamic.py %t/out.so | FileCheck %s
// CHECK: {"inputs":[{"dtype":"f32","shape":[-1,4]}],"outputs":[{"dtype":"f32","shape":[-1,4]},{"dtype":"f32","shape":[]}]}
// CHECK: twice 0 (3, 4) [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0] 66.0
// CHECK: twice 0 (0, 4) [] 0.0
// CHECK: twice {{[1-9][0-9]*}} input 0: dimension 1 is not 4
// CHECK: twice {{[1-9][0-9]*}} input 0: dimension 0 is not a size
// CHECK: first 0 (3,) [0.0, 1.0, 2.0]
// CHECK: first {{[1-9][0-9]*}} out of memory: the model's temporaries or results do not fit
// CHECK: grown 0 (8,) [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]
// CHECK: same 0 True (2, 4) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
// CHECK: kept 0 bytes

// RUN: fastk-run %s --bank=%t/bank --entry=twice --open-size=5 --check | FileCheck %s --check-prefix=CHECKED
// CHECKED-COUNT-2: check: result {{[01]}}: {{.*}}: ok
// RUN: fastk-run %t/out.so --entry=twice --open-size=2 | FileCheck %s --check-prefix=TYPES
// TYPES: result 0: 2x4xf32

// Only static shapes can have winners; a remark says so.
// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/out.so --remarks-filter=fastk 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Missed] left-outside {{.*}}Reason="linalg.generic has a dynamic shape"

// RUN: not fastk-opt %s --target=cuda:sm_90a --bank=%t/bank --emit=obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: error: {{.*}} fastk compiles models of static shape for a GPU; import the model with example inputs of the size you want (required by 'fastk.static_shape')

#rows = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#id = affine_map<(i) -> (i)>

func.func @twice(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %t = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %d = arith.addf %a, %a : f32
    linalg.yield %d : f32
  } -> tensor<?x4xf32>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#rows, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<?x4xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %d = arith.addf %a, %o : f32
    linalg.yield %d : f32
  } -> tensor<f32>
  return %t, %sum : tensor<?x4xf32>, tensor<f32>
}

// The first element says how many there are.
func.func @first(%x: tensor<1xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %x[%c0] : tensor<1xi64>
  %n = arith.index_cast %v : i64 to index
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %a = arith.sitofp %j : i64 to f32
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A loop whose buffer grows.
func.func @grown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %x) -> tensor<?xf32> {
    %n = tensor.dim %t, %c0 : tensor<?xf32>
    %half = arith.cmpi eq, %i, %c0 : index
    %u = scf.if %half -> tensor<?xf32> {
      %d = tensor.concat dim(0) %t, %t : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      scf.yield %d : tensor<?xf32>
    } else {
      scf.yield %t : tensor<?xf32>
    }
    scf.yield %u : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// The argument, twice: each result is the caller's own.
func.func @same(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
