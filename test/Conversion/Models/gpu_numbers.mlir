// What is no tensor between the kernels of a model for a GPU.
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/bank
// DEFINE: %{opt} = fastk-opt --target=cuda:sm_90a --bank=%t/bank --emit=llvm -o -
// DEFINE: %{print} = python3 %S/../../Inputs/print_device_model.py
// RUN: %{opt} %t/numbers.mlir > %t/numbers.ll
// RUN: FileCheck %s --check-prefix=SIGNATURE --input-file=%t/numbers.ll
// RUN: %{print} < %t/numbers.ll | FileCheck %s --check-prefix=NUMBERS
// RUN: %{opt} %t/loop.mlir | %{print} | FileCheck %s --check-prefix=LOOP
// RUN: %{opt} %t/complex.mlir | FileCheck %s --check-prefix=COMPLEX
// RUN: not %{opt} %t/while.mlir 2>&1 | FileCheck %s --check-prefix=WHILE
// RUN: not %{opt} %t/place.mlir 2>&1 | FileCheck %s --check-prefix=PLACE

// Numbers are memory of the GPU outside, and computed by a kernel of one thread.
// SIGNATURE: fastk_signature_forward = {{.*}}\22scalar\22:true
// NUMBERS: "grid":[1,1,1],"block":[1,1,1],"arguments":["in1","in0","ws0"]

// Written out: one workload of four additions, no loop.
// LOOP: add{{.*}}.f32
// LOOP-COUNT-3: add{{.*}}.f32
// LOOP: "steps": [
// LOOP: "launch"
// LOOP-NOT: "launch"

// An element has two parts: the runtime takes its size from the signature.
// COMPLEX: \22signature\22: {\22inputs\22:[{\22dtype\22:\22complex<f32>\22,\22shape\22:[4]}]

// WHILE: while.mlir:3:8: error: 'scf.while' op is a loop or a branch between kernels, which a model for a GPU cannot have: it is one plan, made before it runs {{.*}}(required by 'fastk.static_control_flow')

// PLACE: error: is at a place that depends on data: a model for a GPU is one plan, made before it runs; {{.*}}(required by 'fastk.static_control_flow')

//--- numbers.mlir
func.func @forward(%a: f64, %n: i64, %x: tensor<8xf64>) -> (f64, tensor<8xf64>) {
  %b = arith.sitofp %n : i64 to f64
  %c = arith.addf %a, %b : f64
  %e = tensor.empty() : tensor<8xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) {
  ^bb0(%in: f64, %o: f64):
    %m = arith.mulf %in, %c : f64
    linalg.yield %m : f64
  } -> tensor<8xf64>
  return %c, %r : f64, tensor<8xf64>
}

//--- loop.mlir
func.func @forward(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %r = scf.for %i = %zero to %four step %one iter_args(%v = %x) -> tensor<8xf32> {
    %s = linalg.add ins(%v, %y : tensor<8xf32>, tensor<8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

//--- complex.mlir
func.func @forward(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%in: complex<f32>, %o: complex<f32>):
    %m = complex.mul %in, %in : complex<f32>
    linalg.yield %m : complex<f32>
  } -> tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}

//--- while.mlir
func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  %limit = arith.constant 8.0 : f32
  %r = scf.while (%v = %x) : (tensor<f32>) -> tensor<f32> {
    %n = tensor.extract %v[] : tensor<f32>
    %c = arith.cmpf olt, %n, %limit : f32
    scf.condition(%c) %v : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>):
    %s = linalg.add ins(%v, %v : tensor<f32>, tensor<f32>) outs(%v : tensor<f32>) -> tensor<f32>
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}

//--- place.mlir
func.func @forward(%x: tensor<8xf32>, %p: tensor<i64>) -> tensor<2xf32> {
  %n = tensor.extract %p[] : tensor<i64>
  %i = arith.index_cast %n : i64 to index
  %s = tensor.extract_slice %x[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}
