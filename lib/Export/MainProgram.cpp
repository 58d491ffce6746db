//===- MainProgram.cpp - A program around an exported kernel --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LauncherParts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

/// The module's name, tables of inputs and of outputs.
static const char kMain[] = R"text(
#ifdef FASTK_MAIN
// ------------------------------------------------------------------------------
// A program: fills the inputs, runs the kernels and times them.
// ------------------------------------------------------------------------------
#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {{

struct Tensor {{
  const char *type;
  size_t elements, elementBytes;
};
const std::vector<Tensor> kInputs = {{{1}};
const std::vector<Tensor> kOutputs = {{{2}};

void must(const char *wrong) {{
  if (!wrong)
    return;
  std::fprintf(stderr, "error: %s\n", wrong);
  std::exit(1);
}
void must(cudaError_t code, const char *what) {{
  must(check(code, what) ? nullptr : problem);
}

// Numbers from -1 to 1, the same in every run. Integers are 0, which is an index
// of every table.
__global__ void fillFloats(void *to, size_t count, int kind, unsigned seed) {{
  size_t stride = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {{
    unsigned long long x = (i + 1) * 0x9E3779B97F4A7C15ull + seed;
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ull;
    float value = float((x >> 40) & 0xffff) / 32768.0f - 1.0f;
    unsigned bits = __float_as_uint(value);
    if (kind == 64)
      static_cast<double *>(to)[i] = value;
    else if (kind == 32)
      static_cast<float *>(to)[i] = value;
    else if (kind == 16) // bf16 is the upper half of f32
      static_cast<unsigned short *>(to)[i] = (unsigned short)(bits >> 16);
    else {{
      unsigned short half;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
      static_cast<unsigned short *>(to)[i] = half;
    }
  }
}

void fillInput(void *to, const Tensor &tensor, unsigned seed) {{
  int kind = !std::strcmp(tensor.type, "f64")    ? 64
             : !std::strcmp(tensor.type, "f32")  ? 32
             : !std::strcmp(tensor.type, "bf16") ? 16
             : !std::strcmp(tensor.type, "f16")  ? 15
                                                 : 0;
  if (kind)
    fillFloats<<<1024, 256>>>(to, tensor.elements, kind, seed);
  else
    must(cudaMemset(to, 0, tensor.elements * tensor.elementBytes), "cudaMemset");
  must(cudaGetLastError(), "filling an input");
}

void *allocate(size_t bytes) {{
  void *memory = nullptr;
  must(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
  return memory;
}

} // namespace

int main(int argc, char **argv) {{
  const int calls = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  std::vector<void *> inputs, outputs;
  for (const Tensor &tensor : kInputs) {{
    inputs.push_back(allocate(tensor.elements * tensor.elementBytes));
    fillInput(inputs.back(), tensor, unsigned(inputs.size()) * 7919u);
  }
  for (const Tensor &tensor : kOutputs) {{
    size_t bytes = tensor.elements * tensor.elementBytes;
    outputs.push_back(allocate(bytes));
    must(cudaMemset(outputs.back(), 0xff, bytes), "cudaMemset");
  }
  void *workspace = allocate(fastk_{0}_workspace_bytes());
  const size_t flushBytes = size_t(256) << 20;
  void *flush = allocate(flushBytes);
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  must(cudaDeviceSynchronize(), "filling the inputs");
  auto call = [&] {{
    must(fastk_{0}(inputs.data(), outputs.data(), workspace, stream));
  };
  call();
  must(cudaStreamSynchronize(stream), "the first call");

  // Each call alone, with nothing of its tensors in L2.
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "an event");
  must(cudaEventCreate(&end), "an event");
  std::vector<float> times;
  for (int i = -10; i < calls; ++i) {{
    must(cudaMemsetAsync(flush, i & 1, flushBytes, stream), "cudaMemsetAsync");
    must(cudaEventRecord(begin, stream), "cudaEventRecord");
    call();
    must(cudaEventRecord(end, stream), "cudaEventRecord");
    must(cudaEventSynchronize(end), "a call");
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (i >= 0)
      times.push_back(milliseconds * 1000);
  }
  std::sort(times.begin(), times.end());
  std::printf("median %.2f us, p10 %.2f us, p90 %.2f us of %d calls\n",
              times[times.size() / 2], times[times.size() / 10],
              times[times.size() * 9 / 10], calls);
  for (size_t i = 0; i < kOutputs.size(); ++i) {{
    size_t bytes = kOutputs[i].elements * kOutputs[i].elementBytes;
    std::vector<unsigned char> copy(bytes);
    must(cudaMemcpy(copy.data(), outputs[i], bytes, cudaMemcpyDeviceToHost),
         "cudaMemcpy");
    unsigned long long hash = 14695981039346656037ull; // FNV-1a
    for (unsigned char byte : copy)
      hash = (hash ^ byte) * 1099511628211ull;
    std::printf("out%zu: %zu bytes, hash %016llx\n", i, bytes, hash);
  }
  return 0;
}
#endif // FASTK_MAIN
)text";

static std::string tableOf(const std::vector<RecipeTensor> &tensors) {
  std::string text;
  for (const RecipeTensor &tensor : tensors)
    text +=
        llvm::formatv("{{\"{0}\", {1}, {2}}, ", worker::toString(tensor.type),
                      tensor.elements(), worker::byteSize(tensor.type));
  return text;
}

std::string parts::writeMain(const LaunchRecipe &recipe) {
  return llvm::formatv(kMain, recipe.module, tableOf(recipe.inputs),
                       tableOf(recipe.outputs));
}
