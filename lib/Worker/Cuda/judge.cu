// The worker's own kernels: the inputs of programs, and what is asked of memory
// that a program has used. ValueFormulas.h stands before this text.
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

using namespace fastk::worker;
typedef unsigned long long Word;

// As CudaMemory.cpp numbers them.
enum Type { F64, F32, F16, BF16, I64, I32, I8, I1 };

__device__ double load(const unsigned char *data, Word i, int type) {
  switch (type) {
  case F64:
    return ((const double *)data)[i];
  case F32:
    return ((const float *)data)[i];
  case F16: {
    float value;
    asm("cvt.f32.f16 %0, %1;"
        : "=f"(value)
        : "h"(((const unsigned short *)data)[i]));
    return value;
  }
  case BF16:
    return __uint_as_float(unsigned(((const unsigned short *)data)[i]) << 16);
  case I64:
    return ((const long long *)data)[i];
  case I32:
    return ((const int *)data)[i];
  case I8:
    return ((const signed char *)data)[i];
  }
  return data[i];
}

// Four elements, `stride` apart; together they keep more of the memory busy.
__device__ void load4(const unsigned char *data, Word i, Word stride, int type,
                      double (&values)[4]) {
  if (type == F64) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      values[k] = ((const double *)data)[i + k * stride];
  } else if (type == F32) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      values[k] = ((const float *)data)[i + k * stride];
  } else {
    for (int k = 0; k < 4; ++k)
      values[k] = load(data, i + k * stride, type);
  }
}

__device__ void store(unsigned char *data, Word i, int type, double value) {
  switch (type) {
  case F64:
    ((double *)data)[i] = value;
    return;
  case F32:
    ((float *)data)[i] = float(value);
    return;
  case F16:
    ((unsigned short *)data)[i] = toBits16(value, 10, -14, 15);
    return;
  case BF16:
    ((unsigned short *)data)[i] = toBits16(value, 7, -126, 127);
    return;
  // Conversions to integers saturate.
  case I64:
    ((long long *)data)[i] = __double2ll_rz(value);
    return;
  case I32:
    ((int *)data)[i] = __double2int_rz(value);
    return;
  case I8:
    ((signed char *)data)[i] = (signed char)max(-128, min(127, __double2int_rz(value)));
    return;
  }
  data[i] = value != 0;
}

__device__ Word firstOf() { return Word(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Word strideOf() { return Word(gridDim.x) * blockDim.x; }

// All elements of an operand; or, where `count` is not 0, so many of them, at
// places drawn from a seed of their own.
extern "C" __global__ void fastk_fill(unsigned char *data, int type,
                                      ValueRule rule, NormalEntries normal,
                                      Word places, Word count) {
  Word elements = Word(rule.elements);
  for (Word k = firstOf(); k < (count ? count : elements); k += strideOf()) {
    Word i = count && count < elements ? bitsAt(places, k) % elements : k;
    // The law is the same for all threads, so the branch on it costs little.
    store(data, i, type, valueOf(rule, normal, (long long)i));
  }
}

// Moves every finite element by the relative amount delta, at random signs.
extern "C" __global__ void fastk_perturb(const unsigned char *from,
                                         unsigned char *to, int type,
                                         Word elements, Word seed, double delta,
                                         double limit) {
  Word stream = streamOf(seed);
  double up = 1 + delta, down = 1 - delta;
  for (Word i = firstOf(); i < elements; i += strideOf()) {
    double value = load(from, i, type);
    double moved = value * (mix(stream + i / 64) >> (i % 64) & 1 ? up : down);
    // Written so that NaN and infinities stay.
    store(to, i, type, fabs(moved) <= limit ? moved : value);
  }
}

extern "C" __global__ void fastk_round_to_half(unsigned char *data, int type,
                                               Word elements) {
  for (Word i = firstOf(); i < elements; i += strideOf())
    store(data, i, type,
          fromBits16(toBits16(load(data, i, type), 10, -14, 15), 10, -14));
}

// Of all threads of a block, which all get here: a power of two, at most 256. One atomic operation of a block where
// each thread had one: a quarter of a million on one address take milliseconds.
template <typename T, typename Combine>
__device__ T ofBlock(T value, void *memory, Combine combine) {
  T *shared = (T *)memory;
  shared[threadIdx.x] = value;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] =
          combine(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  __syncthreads();
  T result = shared[0];
  __syncthreads();
  return result;
}

__device__ double blockSum(double value, double *shared) {
  return ofBlock(value, shared, [](double a, double b) { return a + b; });
}

// Who works on a row: a warp, where it is short and a block would mostly wait,
// else a block.
struct RowTeam {
  bool isWarp;
  Word first, step; // rows
  unsigned lane, lanes;

  __device__ explicit RowTeam(Word row)
      : isWarp(row <= 1024), first(blockIdx.x), step(gridDim.x),
        lane(threadIdx.x), lanes(blockDim.x) {
    if (isWarp) {
      first += step * (threadIdx.x / 32);
      step *= blockDim.x / 32;
      lane %= 32;
      lanes = 32;
    }
  }
  __device__ double sum(double value, double *shared) const {
    if (!isWarp)
      return blockSum(value, shared);
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2)
      value += __shfl_xor_sync(~0u, value, apart);
    return value;
  }
};

// Adds up a number of all threads, or raises to, or lowers.
__device__ void addAll(Word *to, Word value, void *shared) {
  Word sum = ofBlock(value, shared, [](Word a, Word b) { return a + b; });
  if (threadIdx.x == 0 && sum)
    atomicAdd(to, sum);
}
__device__ void addAll(double *to, double value, double *shared) {
  double sum = blockSum(value, shared);
  if (threadIdx.x == 0 && sum)
    atomicAdd(to, sum);
}
__device__ void lowerAll(Word *to, Word value, void *shared) {
  Word least =
      ofBlock(value, shared, [](Word a, Word b) { return min(a, b); });
  if (threadIdx.x == 0 && least != ~0ull)
    atomicMin(to, least);
}
// Doubles that are not negative, as bits: they order alike.
__device__ void raiseAll(Word *to, double value, double *shared) {
  double most =
      ofBlock(value, shared, [](double a, double b) { return fmax(a, b); });
  if (threadIdx.x == 0 && most > 0)
    atomicMax(to, (Word)__double_as_longlong(most));
}

// Adds to *out a number that depends on every byte and on its place.
extern "C" __global__ void fastk_hash(const unsigned char *data, Word bytes,
                                      Word key, Word *out) {
  Word sum = 0, stream = streamOf(key);
  Word words = bytes / 8, stride = Word(gridDim.x) * blockDim.x;
  Word first = Word(blockIdx.x) * blockDim.x + threadIdx.x;
  const Word *wide = (const Word *)data;
  for (Word i = first; i < words; i += stride)
    sum += mix(wide[i] ^ mix(stream + i));
  if (first == 0)
    for (Word i = words * 8; i < bytes; ++i)
      sum += mix(data[i] ^ mix(stream + ~i));
  __shared__ Word shared[256];
  addAll(out, sum, shared);
}

// What Measure.cpp sums up.
struct Sums {
  double errorSquares, referenceSquares, referenceFourths;
  Word largest; // bits of a double that is not negative: they order alike
  Word mismatches;
  Word firstMismatch;
  Word overflows; // finite references beyond the type's largest value
};

// A team a row of `row` elements (the last may be shorter), one after another.
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
  const RowTeam team(row);
  for (Word r = team.first; r < rows; r += team.step) {
    Word begin = r * row, end = min(begin + row, elements);
    double total = 0, finite = 0;
    auto scale = [&](double x) {
      double value = fabs(x);
      if (value < 1.0 / 0.0) {
        total += value;
        finite += 1;
        overflows += value > limit;
      }
    };
    Word step = team.lanes, i = begin + team.lane;
    for (; i + 3 * step < end; i += 4 * step) {
      double x[4];
      load4(reference, i, step, referenceType, x);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        scale(x[k]);
    }
    for (; i < end; i += step)
      scale(load(reference, i, referenceType));
    total = team.sum(total, shared);
    finite = team.sum(finite, shared);
    double mean = finite > 0 ? total / finite : 0;
    auto compare = [&](Word i, double y, double x) {
      if (!(fabs(x) < 1.0 / 0.0) || !(fabs(y) < 1.0 / 0.0)) {
        bool alike = (x != x && y != y) || x == y;
        if (!alike) {
          ++mismatches;
          first = min(first, i);
        }
        return;
      }
      double error = fabs(y - x);
      errorSquares += error * error;
      squares += x * x;
      double scaled = x * x * 0x1p-64;
      fourths += scaled * scaled;
      double scale = fabs(x) + mean;
      // Few set a new maximum: the others need no division.
      if (error > tiny && !(error <= largest * scale))
        largest = fmax(largest, scale > 0 ? error / scale : 1.0 / 0.0);
    };
    for (i = begin + team.lane; i + 3 * step < end; i += 4 * step) {
      double y[4], x[4];
      load4(output, i, step, outputType, y);
      load4(reference, i, step, referenceType, x);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        compare(i + k * step, y[k], x[k]);
    }
    for (; i < end; i += step)
      compare(i, load(output, i, outputType),
              load(reference, i, referenceType));
  }
  addAll(&sums->errorSquares, errorSquares, shared);
  addAll(&sums->referenceSquares, squares, shared);
  addAll(&sums->referenceFourths, fourths, shared);
  raiseAll(&sums->largest, largest, shared);
  addAll(&sums->mismatches, mismatches, shared);
  lowerAll(&sums->firstMismatch, first, shared);
  addAll(&sums->overflows, overflows, shared);
}

// What JudgeElements.cpp finds; doubles that are not negative as bits, which
// order alike.
struct ShareSums {
  Word ieee, tf32, half, relativeCondition, rowCondition;
  double errorSquares, referenceSquares;
  Word largest;
  Word masked, judged, mismatches, firstMismatch;
};

// A team a row, as fastk_compare. `condition` is null where the rule is
// relative.
extern "C" __global__ void
fastk_judge(const unsigned char *output, int outputType,
            const unsigned char *reference, int referenceType,
            const double *condition, Word elements, Word row, ErrorRule rule,
            ShareSums *sums) {
  __shared__ double shared[256];
  Word rows = (elements + row - 1) / row;
  double ieee = 0, tf32 = 0, half = 0, relative = 0, rowCondition = 0;
  double errorSquares = 0, squares = 0, largest = 0;
  Word masked = 0, judged = 0, mismatches = 0, first = ~0ull;
  bool needsMean = rule.half > 0;
  double perBound = 1 / rule.ieee;
  const RowTeam team(row);
  for (Word r = team.first; r < rows; r += team.step) {
    Word begin = r * row, end = min(begin + row, elements);
    double total = 0, finite = 0, errors = 0, bounds = 0, fourths = 0;
    Word step = team.lanes;
    if (needsMean) {
      Word i = begin + team.lane;
      for (; i + 3 * step < end; i += 4 * step) {
        double x[4];
        load4(reference, i, step, referenceType, x);
#pragma unroll
        for (int k = 0; k < 4; ++k)
          if (isFinite(x[k])) {
            total += fabs(x[k]);
            finite += 1;
          }
      }
      for (; i < end; i += step) {
        double x = load(reference, i, referenceType);
        if (isFinite(x)) {
          total += fabs(x);
          finite += 1;
        }
      }
      total = team.sum(total, shared);
      finite = team.sum(finite, shared);
    }
    double mean = finite > 0 ? total / finite : 0;
    auto judge = [&](Word i, double y, double x, double own) {
      ElementError e = judgeElement(rule, y, x, own, mean);
      if (e.judged != Judged::Finite) {
        if (e.judged == Judged::Mismatch) {
          ++mismatches;
          first = min(first, i);
        }
        ++(e.judged == Judged::Masked ? masked : judged);
        return;
      }
      ++judged;
      double error = fabs(y - x), size = fabs(x);
      errorSquares += error * error;
      squares += x * x;
      errors += e.error * e.error;
      double square = e.bound * e.bound;
      bounds += square;
      fourths += square * square;
      raiseShare(ieee, e.error, e.ieee);
      raiseShare(tf32, e.error, e.tf32);
      raiseShare(half, e.error, e.half);
      raiseShare(largest, e.error, size + mean);
      if (size > rule.tiny) {
        double condition = e.bound * perBound;
        raiseShare(relative, condition, size);
        raiseShare(rowCondition, condition, size + mean);
      }
    };
    Word i = begin + team.lane;
    for (; i + 3 * step < end; i += 4 * step) {
      double y[4], x[4], own[4] = {};
      load4(output, i, step, outputType, y);
      load4(reference, i, step, referenceType, x);
      if (condition)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          own[k] = condition[i + k * step];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        judge(i + k * step, y[k], x[k], own[k]);
    }
    for (; i < end; i += step)
      judge(i, load(output, i, outputType), load(reference, i, referenceType),
            condition ? condition[i] : 0);
    if (rule.rows) {
      errors = team.sum(errors, shared);
      bounds = team.sum(bounds, shared);
      fourths = team.sum(fourths, shared);
      ieee = fmax(ieee, rowShareOf(errors, bounds, fourths));
    }
  }
  addAll(&sums->errorSquares, errorSquares, shared);
  addAll(&sums->referenceSquares, squares, shared);
  raiseAll(&sums->largest, largest, shared);
  raiseAll(&sums->ieee, ieee, shared);
  raiseAll(&sums->tf32, tf32, shared);
  raiseAll(&sums->half, half, shared);
  raiseAll(&sums->relativeCondition, relative, shared);
  raiseAll(&sums->rowCondition, rowCondition, shared);
  addAll(&sums->masked, masked, shared);
  addAll(&sums->judged, judged, shared);
  addAll(&sums->mismatches, mismatches, shared);
  lowerAll(&sums->firstMismatch, first, shared);
}
