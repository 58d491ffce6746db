// RUN: fastk-opt %s -split-input-file -verify-diagnostics -o /dev/null

// workload: body takes other types than the operands.
func.func @inputs(%x: tensor<8xf32>) {
  // expected-error @+1 {{'fastk.workload' op body takes ('tensor<4xf32>') but the operands are ('tensor<8xf32>') (required by 'fastk.workload')}}
  fastk.workload "w"(%x) : (tensor<8xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    fastk.yield
  }
  return
}

// -----

// workload: body yields other types than the results.
func.func @outputs(%x: tensor<8xf32>) {
  // expected-error @+1 {{'fastk.workload' op body yields ('tensor<8xf32>') but the results are () (required by 'fastk.workload')}}
  fastk.workload "w"(%x) : (tensor<8xf32>) -> () {
  ^bb0(%a: tensor<8xf32>):
    // expected-note @+1 {{yielded here}}
    fastk.yield %a : tensor<8xf32>
  }
  return
}

// -----

// workload: no terminator.
func.func @terminator(%x: tensor<8xf32>) {
  // expected-error @+1 {{'fastk.workload' op region must end in 'fastk.yield' (required by 'fastk.workload')}}
  fastk.workload "w"(%x) : (tensor<8xf32>) -> () {
  ^bb0(%a: tensor<8xf32>):
    ub.unreachable
  }
  return
}

// -----

// workload: isolated from what surrounds it.
func.func @isolated(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @+1 {{required by region isolation constraints}}
  %r = fastk.workload "w"(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{using value defined outside the region}}
    fastk.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// yield: only in a workload or a lowering.
func.func @yield(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'fastk.yield' op expects parent op to be one of 'fastk.workload, fastk.lowering'}}
  fastk.yield %x : tensor<8xf32>
}

// -----

// lowering: valid, as the cases below start from it.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: the pattern was edited.
// expected-error-re @+1 {{'fastk.lowering' op pattern hashes to {{[0-9a-f]+}} but the key says b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32: the pattern or the key was edited (required by 'fastk.key')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<9xf32>):
  fastk.yield %a : tensor<9xf32>
}

// -----

// lowering: the key was edited.
// expected-error @+1 {{'fastk.lowering' op pattern hashes to b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32 but the key says 0000000000000000000000000000000000000000000000000000000000000000: the pattern or the key was edited (required by 'fastk.key')}}
fastk.lowering @w_0000000000000000 attributes {format_version = 1 : i64, key = "0000000000000000000000000000000000000000000000000000000000000000", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: the symbol is not the key's.
// expected-error @+1 {{'fastk.lowering' op symbol '@w_other' must be '@w_b8b3dcb2ff0131a9', from its key (required by 'fastk.key')}}
fastk.lowering @w_other attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: a key that is none.
// expected-error @+1 {{'fastk.lowering' op key 'ABCD' is not 64 lower-case hex digits (required by 'fastk.key')}}
fastk.lowering @w_ABCD attributes {format_version = 1 : i64, key = "ABCD", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: another format version.
// expected-error @+1 {{'fastk.lowering' op has format version 2 but this fastk reads version 1 (required by 'fastk.format_version')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 2 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: negative workspace.
// expected-error @+1 {{'fastk.lowering' op workspace of -1 bytes is negative (required by 'fastk.workspace')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host", workspace = -1 : i64} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: the default language has no program.
// expected-error @+1 {{'fastk.lowering' op language 'default' has no program: drop file, digest and source (required by 'fastk.language')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host", file = "kernel.c"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: a program without its digest.
// expected-error @+1 {{'fastk.lowering' op language 'c' needs the program's file and digest (required by 'fastk.language')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<c>, target = "host", file = "kernel.c"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: a program that is not the recorded one.
// expected-error @+1 {{'fastk.lowering' op program kernel.c has digest e13e332bd08e13cbe2aee094e130ed23878b3b554be5b9a665a83e63caa987ae but the lowering was recorded with 0000000000000000000000000000000000000000000000000000000000000000 (required by 'fastk.digest')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<c>, target = "host", file = "kernel.c", digest = "0000000000000000000000000000000000000000000000000000000000000000", source = "int x;"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// lowering: pattern without a yield.
// expected-error @+1 {{'fastk.lowering' op region must end in 'fastk.yield' (required by 'fastk.lowering')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  ub.unreachable
}

// -----

// call: no such lowering.
func.func @missing(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'fastk.call' op '@w_missing' is not a fastk.lowering of this module (required by 'fastk.call')}}
  %r = fastk.call @w_missing(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// call: other types than the pattern.
// expected-note @+1 {{lowering defined here}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}
func.func @types(%x: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error @+1 {{'fastk.call' op passes ('tensor<9xf32>') -> ('tensor<9xf32>') to a lowering of type '(tensor<8xf32>) -> tensor<8xf32>' (required by 'fastk.call')}}
  %r = fastk.call @w_b8b3dcb2ff0131a9(%x) : (tensor<9xf32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// -----

// call: results on tensors or inits on memrefs, not both.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}
func.func @both(%x: tensor<8xf32>, %m: memref<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'fastk.call' op has both results and inits: results on tensors, inits on memrefs (required by 'fastk.call')}}
  %r = fastk.call @w_b8b3dcb2ff0131a9(%x) outs(%m) : (tensor<8xf32>, memref<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// call: valid on tensors and on memrefs.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<default>, target = "host"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}
func.func @calls(%x: tensor<8xf32>, %m: memref<8xf32>, %n: memref<8xf32>) -> tensor<8xf32> {
  fastk.call @w_b8b3dcb2ff0131a9(%m) outs(%n) : (memref<8xf32>, memref<8xf32>) -> ()
  %r = fastk.call @w_b8b3dcb2ff0131a9(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
