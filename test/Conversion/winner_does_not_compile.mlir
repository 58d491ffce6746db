// A winner that this compiler refuses never fails a compile: the default lowering takes its place.
// RUN: sed -n 's|^// program: ||p' %s > %t.c
// RUN: sh %S/../Bank/Inputs/with_program.sh %S/../Bank/Inputs/v1 %t.bank %t.c
// RUN: fastk-run %s --bank=%t.bank --winners-from=any --check 2>&1 | FileCheck %s

// CHECK: warning: winner w_0e03df74c38e5906 does not compile here:
// CHECK-SAME: mutable static variable 'state'
// CHECK-SAME: its workloads take the default lowering
// CHECK: check: result 0:
// CHECK-SAME: ok

// program: int state;
// program: void fastk_kernel(const float *a, float *b, void *w) { b[0] = a[0] + state++; }

func.func @relu(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %zero : f32
    linalg.yield %m : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}
