// A cf.assert that does not hold ends the call with its text: at the top, in a branch, in a loop,
// in a loop of several threads, in the body of an op. Nothing is written to stderr but by fastk-run.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/out.so
// RUN: python3 %S/../Inputs/call_asserts.py %t/out.so | FileCheck %s
// RUN: not fastk-run %t/out.so --entry=top --inputs=%t/none.npy 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: none.npy

// The inputs that fastk-run makes are in range; a constant one is not.
// RUN: not fastk-run %s --bank=%t/bank --entry=always 2>&1 | FileCheck %s --check-prefix=ALWAYS
// ALWAYS: fastk-run: error: always: this never holds

// Each function returns its own text, 0 when all is well, and memory is given back.
// CHECK: top 5 0 ''
// CHECK: top -1 {{[1-9][0-9]*}} 'x must not be negative'
// CHECK: branch 5 0 ''
// CHECK: branch -1 {{[1-9][0-9]*}} 'not in this branch'
// CHECK: loop 5 0 ''
// CHECK: loop -1 {{[1-9][0-9]*}} 'not in this loop'
// CHECK: body 5 0 ''
// CHECK: body -1 {{[1-9][0-9]*}} 'an element is negative'
// CHECK: threads 5 0 ''
// CHECK: threads -1 {{[1-9][0-9]*}} 'an element of many is negative'
// CHECK: unknown ''
// CHECK: kept 0 bytes

#id = affine_map<(i) -> (i)>

func.func @always(%x: tensor<1xi64>) -> tensor<1xi64> {
  %false = arith.constant false
  cf.assert %false, "this never holds"
  return %x : tensor<1xi64>
}

func.func @top(%x: tensor<1xi64>) -> tensor<1xi64> {
  %zero = arith.constant 0 : i64
  %at = arith.constant 0 : index
  %v = tensor.extract %x[%at] : tensor<1xi64>
  %ok = arith.cmpi sge, %v, %zero : i64
  cf.assert %ok, "x must not be negative"
  return %x : tensor<1xi64>
}

func.func @branch(%x: tensor<1xi64>) -> tensor<1xi64> {
  %zero = arith.constant 0 : i64
  %at = arith.constant 0 : index
  %v = tensor.extract %x[%at] : tensor<1xi64>
  %negative = arith.cmpi slt, %v, %zero : i64
  %r = scf.if %negative -> tensor<1xi64> {
    %big = tensor.splat %v : tensor<1xi64>
    %small = arith.constant 9 : i64
    %no = arith.cmpi sgt, %v, %small : i64
    cf.assert %no, "not in this branch"
    scf.yield %big : tensor<1xi64>
  } else {
    scf.yield %x : tensor<1xi64>
  }
  return %r : tensor<1xi64>
}

func.func @loop(%x: tensor<1xi64>) -> tensor<1xi64> {
  %zero = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x) -> tensor<1xi64> {
    %v = tensor.extract %t[%c0] : tensor<1xi64>
    %ok = arith.cmpi sge, %v, %zero : i64
    cf.assert %ok, "not in this loop"
    %w = arith.addi %v, %v : i64
    %u = tensor.from_elements %w : tensor<1xi64>
    scf.yield %u : tensor<1xi64>
  }
  return %r : tensor<1xi64>
}

func.func @body(%x: tensor<1xi64>) -> tensor<1xi64> {
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<1xi64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1xi64>) outs(%e : tensor<1xi64>) {
  ^bb0(%a: i64, %o: i64):
    %ok = arith.cmpi sge, %a, %zero : i64
    cf.assert %ok, "an element is negative"
    linalg.yield %a : i64
  } -> tensor<1xi64>
  return %r : tensor<1xi64>
}

func.func @threads(%x: tensor<1xi64>) -> tensor<1xi64> {
  %zero = arith.constant 0 : i64
  %at = arith.constant 0 : index
  %v = tensor.extract %x[%at] : tensor<1xi64>
  %e = tensor.empty() : tensor<300000xi64>
  %one = tensor.empty() : tensor<1xi64>
  %many = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
      outs(%e : tensor<300000xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %p = arith.muli %n, %v : i64
    %ok = arith.cmpi sge, %p, %zero : i64
    cf.assert %ok, "an element of many is negative"
    linalg.yield %p : i64
  } -> tensor<300000xi64>
  %r = tensor.extract_slice %many[1] [1] [1] : tensor<300000xi64> to tensor<1xi64>
  return %r : tensor<1xi64>
}
