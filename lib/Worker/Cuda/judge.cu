// The worker's own kernels: what is asked of memory that a program has used.
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

typedef unsigned long long Word;

// splitmix64, as in Random.h.
__device__ Word mix(Word x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Adds to *out a number that depends on every byte and on its place.
extern "C" __global__ void fastk_hash(const unsigned char *data, Word bytes,
                                      Word *out) {
  Word sum = 0;
  Word words = bytes / 8, stride = Word(gridDim.x) * blockDim.x;
  Word first = Word(blockIdx.x) * blockDim.x + threadIdx.x;
  const Word *wide = (const Word *)data;
  for (Word i = first; i < words; i += stride)
    sum += mix(wide[i] ^ mix(i));
  if (first == 0)
    for (Word i = words * 8; i < bytes; ++i)
      sum += mix(data[i] ^ mix(~i));
  atomicAdd(out, sum);
}

// data[at[k]] = value[k], elements of `size` bytes.
extern "C" __global__ void fastk_scatter(unsigned char *data, const Word *at,
                                         const unsigned char *value, Word count,
                                         int size) {
  Word k = Word(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < count)
    for (int b = 0; b < size; ++b)
      data[at[k] * size + b] = value[k * size + b];
}

// What Measure.cpp sums up.
struct Sums {
  double errorSquares, referenceSquares, referenceFourths;
  Word largest; // bits of a double that is not negative: they order alike
  Word mismatches;
  Word firstMismatch;
  Word overflows; // finite references beyond the type's largest value
};

// 0: f64, 1: f32, 2: f16, 3: bf16.
__device__ double load(const unsigned char *data, Word i, int type) {
  if (type == 0)
    return ((const double *)data)[i];
  if (type == 1)
    return ((const float *)data)[i];
  unsigned bits = ((const unsigned short *)data)[i];
  if (type == 3)
    return __uint_as_float(bits << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

__device__ double blockSum(double value, double *shared) {
  shared[threadIdx.x] = value;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  double sum = shared[0];
  __syncthreads();
  return sum;
}

// A block a row of `row` elements (the last may be shorter), one after another.
extern "C" __global__ void fastk_compare(const unsigned char *output,
                                         int outputType,
                                         const unsigned char *reference,
                                         int referenceType, Word elements,
                                         Word row, double tiny, double limit,
                                         Sums *sums) {
  __shared__ double shared[256];
  Word rows = (elements + row - 1) / row;
  double errorSquares = 0, squares = 0, fourths = 0, largest = 0;
  Word mismatches = 0, first = ~0ull, overflows = 0;
  for (Word r = blockIdx.x; r < rows; r += gridDim.x) {
    Word begin = r * row, end = min(begin + row, elements);
    double total = 0, finite = 0;
    for (Word i = begin + threadIdx.x; i < end; i += blockDim.x) {
      double value = fabs(load(reference, i, referenceType));
      if (value < 1.0 / 0.0) {
        total += value;
        finite += 1;
        overflows += value > limit;
      }
    }
    total = blockSum(total, shared);
    finite = blockSum(finite, shared);
    double mean = finite > 0 ? total / finite : 0;
    for (Word i = begin + threadIdx.x; i < end; i += blockDim.x) {
      double y = load(output, i, outputType);
      double x = load(reference, i, referenceType);
      if (!(fabs(x) < 1.0 / 0.0) || !(fabs(y) < 1.0 / 0.0)) {
        bool alike = (x != x && y != y) || x == y;
        if (!alike) {
          ++mismatches;
          first = min(first, i);
        }
        continue;
      }
      double error = fabs(y - x);
      errorSquares += error * error;
      squares += x * x;
      double scaled = x * x * 0x1p-64;
      fourths += scaled * scaled;
      if (error > tiny) {
        double scale = fabs(x) + mean;
        largest = fmax(largest, scale > 0 ? error / scale : 1.0 / 0.0);
      }
    }
  }
  atomicAdd(&sums->errorSquares, errorSquares);
  atomicAdd(&sums->referenceSquares, squares);
  atomicAdd(&sums->referenceFourths, fourths);
  atomicMax(&sums->largest, (Word)__double_as_longlong(largest));
  if (mismatches) {
    atomicAdd(&sums->mismatches, mismatches);
    atomicMin(&sums->firstMismatch, first);
  }
  if (overflows)
    atomicAdd(&sums->overflows, overflows);
}
