// Loops of known length are repeats of the plan of a model for a GPU.
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/bank
// DEFINE: %{opt} = fastk-opt --target=cuda:sm_90a --bank=%t/bank --emit=llvm -o -
// DEFINE: %{print} = python3 %S/../../Inputs/print_device_model.py
// RUN: %{opt} %t/recurrence.mlir | %{print} | FileCheck %s --check-prefix=RECURRENCE
// RUN: %{opt} %t/nested.mlir | %{print} | FileCheck %s --check-prefix=NESTED
// RUN: %{opt} %t/counter.mlir > %t/counter.ll
// RUN: grep -F 'fastk.plan_file' %t/counter.ll | FileCheck %s --check-prefix=TABLE
// RUN: %{print} < %t/counter.ll | FileCheck %s --check-prefix=COUNTER
// RUN: %{opt} %t/rows.mlir | %{print} | FileCheck %s --check-prefix=ROWS
// RUN: %{opt} %t/unaligned.mlir | %{print} | FileCheck %s --check-prefix=UNALIGNED
// RUN: %{opt} %t/swap.mlir | %{print} | FileCheck %s --check-prefix=SWAP
// RUN: not %{opt} %t/deep.mlir 2>&1 | FileCheck %s --check-prefix=DEEP

// Slices are read where they are, from the last one on; the state is in two
// halves of the workspace, of which the second call of an even number of steps
// leaves the result in the first.
// RECURRENCE: {"bytes":512}]
// RECURRENCE-NEXT: "steps": [
// RECURRENCE-NEXT: {{^  }}{"launch":"forward::k0"{{.*}}"arguments":["in1","ws0"]},
// RECURRENCE-NEXT: {"repeat":512,"steps":[
// RECURRENCE-NEXT: {{^   }}{"launch":"w_{{.*}}"arguments":[{"buffer":"in0+130816","each":[-256]},{"buffer":"ws0","odd":[256]},{"buffer":"ws0+256","odd":[-256]}]},
// RECURRENCE-NEXT: {{^   }}{"launch":"forward::{{.*}}"arguments":[{"buffer":"ws0+256","odd":[-256]},{"buffer":"out0+130816","each":[-256]}]}]},
// RECURRENCE-NEXT: {{^  }}{"launch":"forward::{{.*}}"arguments":["ws0","out1"]}]}

// Only the number of repeats and the places follow from the length.
// RUN: sed 's/512/10/g; s/511/9/' %t/recurrence.mlir > %t/short.mlir
// RUN: %{opt} %t/recurrence.mlir | %{print} | sed 's/[0-9]*//g' > %t/long.txt
// RUN: %{opt} %t/short.mlir | %{print} | sed 's/[0-9]*//g' > %t/short.txt
// RUN: diff %t/long.txt %t/short.txt

// NESTED: {"repeat":6,"steps":[
// NESTED-NEXT: {{^   }}{"launch":{{.*}}"arguments":["in1","ws0"]},
// NESTED-NEXT: {{^   }}{"repeat":5,"steps":[
// NESTED-NEXT: {{^    }}{"launch":{{.*}}"arguments":[{"buffer":"in0","each":[1280,256]},{"buffer":"ws0","odd":[0,256]},{"buffer":"ws0+256","odd":[0,-256]}]}]},
// NESTED-NEXT: {{^   }}{"launch":{{.*}}"arguments":["ws0+256",{"buffer":"out0","each":[256]}]}]}]}

// A counter that is computed with is read from a table, here by a kernel of
// one thread that makes 3, 5, ... of it.
// TABLE: constants\22: [\0A  {\22at\22:{{[0-9]+}},\22bytes\22:40}]
// TABLE-SAME: \00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\02
// COUNTER: {"repeat":5,"steps":[
// COUNTER-NEXT: "grid":[1,1,1],"block":[1,1,1],"arguments":[{"buffer":"in1","each":[8]},"[[NUMBER:ws0\+[0-9]+]]"]},
// COUNTER-NEXT: "arguments":[{"buffer":"ws0","odd":[256]},"[[NUMBER]]",{"buffer":"ws0+256","odd":[-256]}]}]},

// Results that are the states of all steps: nothing is copied between steps,
// and the start lies in front of the first row.
// ROWS: {"bytes":2304}]
// ROWS: "arguments":["in1","ws0"]},
// ROWS-NEXT: {"repeat":8,"steps":[
// ROWS-NEXT: "arguments":[{"buffer":"in0","each":[256]},{"buffer":"ws0","each":[256]},{"buffer":"ws0+256","each":[256]}]}]},
// ROWS-NEXT: "arguments":["ws0+256","out0"]}]}

// A call takes operands that are 16-byte aligned: slices of 12 bytes are copied.
// UNALIGNED: {"repeat":8,"steps":[
// UNALIGNED-NEXT: {"launch":"forward::{{.*}}"arguments":[{"buffer":"in0","each":[12]},"[[ROW:ws0[+0-9]*]]"]},
// UNALIGNED-NEXT: {"launch":"w_{{.*}}"arguments":["[[ROW]]",

// Values that change places are copied, from one half to the other of another.
// SWAP: {"bytes":1024}]
// SWAP: {"repeat":7,"steps":[
// SWAP-NEXT: "arguments":[{"buffer":"[[B:ws0[+0-9]*]]","odd":[256]},{"buffer":"[[A2:ws0[+0-9]*]]","odd":[-256]}]},
// SWAP-NEXT: "arguments":[{"buffer":"{{ws0[+0-9]*}}","odd":[256]},{"buffer":"{{ws0[+0-9]*}}","odd":[-256]}]}]},

// DEEP: deep.mlir:{{[0-9]+}}:{{[0-9]+}}: error: is in 8 loops, and a plan repeats steps no deeper: write one of them out, or make two one (required by 'fastk.repeat')

//--- recurrence.mlir
#v = affine_map<(i) -> (i)>
func.func @forward(%x: tensor<512x64xf32>, %s: tensor<64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 512 : index
  %last = arith.constant 511 : index
  %e = tensor.empty() : tensor<512x64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%o = %e, %h = %s) -> (tensor<512x64xf32>, tensor<64xf32>) {
    %t = arith.subi %last, %i : index
    %g = tensor.extract_slice %x[%t, 0] [1, 64] [1, 1] : tensor<512x64xf32> to tensor<64xf32>
    %m = tensor.empty() : tensor<64xf32>
    %a = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]} ins(%g, %h : tensor<64xf32>, tensor<64xf32>) outs(%m : tensor<64xf32>) {
    ^bb0(%p: f32, %q: f32, %z: f32):
      %d = arith.subf %p, %q : f32
      linalg.yield %d : f32
    } -> tensor<64xf32>
    %w = tensor.insert_slice %a into %o[%t, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<512x64xf32>
    scf.yield %w, %a : tensor<512x64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<512x64xf32>, tensor<64xf32>
}

//--- nested.mlir
func.func @forward(%x: tensor<6x5x64xf32>, %s: tensor<64xf32>) -> tensor<6x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : tensor<6x64xf32>
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%o = %e) -> (tensor<6x64xf32>) {
    %a = scf.for %j = %c0 to %c5 step %c1 iter_args(%h = %s) -> (tensor<64xf32>) {
      %g = tensor.extract_slice %x[%i, %j, 0] [1, 1, 64] [1, 1, 1] : tensor<6x5x64xf32> to tensor<64xf32>
      %m = tensor.empty() : tensor<64xf32>
      %b = linalg.add ins(%g, %h : tensor<64xf32>, tensor<64xf32>) outs(%m : tensor<64xf32>) -> tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    %w = tensor.insert_slice %a into %o[%i, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<6x64xf32>
    scf.yield %w : tensor<6x64xf32>
  }
  return %r : tensor<6x64xf32>
}

//--- counter.mlir
#v = affine_map<(i) -> (i)>
func.func @forward(%s: tensor<64xf32>) -> tensor<64xf32> {
  %c3 = arith.constant 3 : index
  %c2 = arith.constant 2 : index
  %c13 = arith.constant 13 : index
  %r = scf.for %i = %c3 to %c13 step %c2 iter_args(%h = %s) -> (tensor<64xf32>) {
    %m = tensor.empty() : tensor<64xf32>
    %a = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%h : tensor<64xf32>) outs(%m : tensor<64xf32>) {
    ^bb0(%p: f32, %z: f32):
      %k = arith.index_cast %i : index to i64
      %f = arith.sitofp %k : i64 to f32
      %d = arith.addf %p, %f : f32
      linalg.yield %d : f32
    } -> tensor<64xf32>
    scf.yield %a : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

//--- rows.mlir
func.func @forward(%x: tensor<8x64xf32>, %s: tensor<64xf32>) -> tensor<8x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8x64xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %e, %h = %s) -> (tensor<8x64xf32>, tensor<64xf32>) {
    %g = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<64xf32>
    %m = tensor.empty() : tensor<64xf32>
    %a = linalg.add ins(%g, %h : tensor<64xf32>, tensor<64xf32>) outs(%m : tensor<64xf32>) -> tensor<64xf32>
    %w = tensor.insert_slice %a into %o[%i, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<8x64xf32>
    scf.yield %w, %a : tensor<8x64xf32>, tensor<64xf32>
  }
  %u = tensor.empty() : tensor<8x64xf32>
  %v = linalg.negf ins(%r#0 : tensor<8x64xf32>) outs(%u : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %v : tensor<8x64xf32>
}

//--- unaligned.mlir
func.func @forward(%x: tensor<8x3xf32>, %s: tensor<3xf32>) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%h = %s) -> (tensor<3xf32>) {
    %g = tensor.extract_slice %x[%i, 0] [1, 3] [1, 1] : tensor<8x3xf32> to tensor<3xf32>
    %m = tensor.empty() : tensor<3xf32>
    %a = linalg.add ins(%g, %h : tensor<3xf32>, tensor<3xf32>) outs(%m : tensor<3xf32>) -> tensor<3xf32>
    scf.yield %a : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}

//--- swap.mlir
func.func @forward(%p: tensor<64xf32>, %q: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %z:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%a = %p, %b = %q) -> (tensor<64xf32>, tensor<64xf32>) {
    scf.yield %b, %a : tensor<64xf32>, tensor<64xf32>
  }
  return %z#0, %z#1 : tensor<64xf32>, tensor<64xf32>
}

//--- deep.mlir
func.func @forward(%s: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r0 = scf.for %i0 = %c0 to %c5 step %c1 iter_args(%h0 = %s) -> (tensor<64xf32>) {
    %r1 = scf.for %i1 = %c0 to %c5 step %c1 iter_args(%h1 = %h0) -> (tensor<64xf32>) {
      %r2 = scf.for %i2 = %c0 to %c5 step %c1 iter_args(%h2 = %h1) -> (tensor<64xf32>) {
        %r3 = scf.for %i3 = %c0 to %c5 step %c1 iter_args(%h3 = %h2) -> (tensor<64xf32>) {
          %r4 = scf.for %i4 = %c0 to %c5 step %c1 iter_args(%h4 = %h3) -> (tensor<64xf32>) {
            %r5 = scf.for %i5 = %c0 to %c5 step %c1 iter_args(%h5 = %h4) -> (tensor<64xf32>) {
              %r6 = scf.for %i6 = %c0 to %c5 step %c1 iter_args(%h6 = %h5) -> (tensor<64xf32>) {
                %r7 = scf.for %i7 = %c0 to %c5 step %c1 iter_args(%h7 = %h6) -> (tensor<64xf32>) {
                  %r8 = scf.for %i8 = %c0 to %c5 step %c1 iter_args(%h8 = %h7) -> (tensor<64xf32>) {
                    %m = linalg.add ins(%h8, %s : tensor<64xf32>, tensor<64xf32>) outs(%h8 : tensor<64xf32>) -> tensor<64xf32>
                    scf.yield %m : tensor<64xf32>
                  }
                  scf.yield %r8 : tensor<64xf32>
                }
                scf.yield %r7 : tensor<64xf32>
              }
              scf.yield %r6 : tensor<64xf32>
            }
            scf.yield %r5 : tensor<64xf32>
          }
          scf.yield %r4 : tensor<64xf32>
        }
        scf.yield %r3 : tensor<64xf32>
      }
      scf.yield %r2 : tensor<64xf32>
    }
    scf.yield %r1 : tensor<64xf32>
  }
  return %r0 : tensor<64xf32>
}
