// RUN: fastk-opt %s --split-input-file --fastk-extract-kernel --verify-diagnostics

// expected-error @+1 {{has 0 fastk.lowering ops: name one by symbol=NAME (required by 'fastk-extract-kernel')}}
module {
  func.func private @f()
}
