// RUN: fastk-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(fastk-promote-to-f64))'

func.func @bits(%x: f32) -> i32 {
  // expected-error @below {{reinterprets the bits of a float, which have no counterpart in f64 (required by 'fastk-promote-to-f64')}}
  %0 = arith.bitcast %x : f32 to i32
  return %0 : i32
}

// -----

func.func @wide(%x: f80, %y: f80) -> f80 {
  // expected-error @below {{computes in a float wider than f64}}
  %0 = arith.addf %x, %y : f80
  return %0 : f80
}

// -----

func.func @normal(%x: f32) -> i1 {
  // expected-error @below {{asks whether a number is normal, which is another question in f64 (required by 'fastk-promote-to-f64')}}
  %0 = math.isnormal %x : f32
  return %0 : i1
}
