//===- NegativeControls.cpp - Worthless outputs that must be rejected -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NegativeControls.h"
#include "Values/Parallel.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

static constexpr const char *zeros = "zeros";
static constexpr const char *ones = "ones";
static constexpr const char *copy = "copy of an input";
static constexpr const char *rowMean = "row mean";
static constexpr const char *first = "first element";
static constexpr const char *stale = "previous output";
static constexpr const char *tile = "one tile missing";

/// The input that a copying competitor would return for an output: the first
/// of its size; -1 if there is none.
static int copiedInput(const Job &job, size_t output) {
  for (size_t i = 0; i < job.inputs.size(); ++i)
    if (job.inputs[i].elements() == job.outputs[output].elements())
      return int(i);
  return -1;
}

/// How the oracle stores an output: integers as they are, the rest as double.
static ElementType oracleType(const Tensor &tensor) {
  return isFloat(tensor.type) ? ElementType::F64 : tensor.type;
}

/// The mean of each row from element \p from on; rows before it have none.
static std::vector<double> rowMeans(const Reader &reference, int64_t elements,
                                    int64_t row, int64_t from) {
  std::vector<double> means(size_t((elements + row - 1) / row));
  int64_t firstRow = from / row;
  parallelFor(elements - firstRow * row, row,
              [&](int64_t, int64_t begin, int64_t end) {
                constexpr int64_t piece = 1024;
                double values[piece];
                begin += firstRow * row;
                end += firstRow * row;
                for (int64_t start = begin; start < end; start += row) {
                  double sum = 0;
                  for (int64_t at = start; at < start + row; at += piece) {
                    int64_t stop = std::min(at + piece, start + row);
                    reference(at, stop, values);
                    for (int64_t i = 0; i < stop - at; ++i)
                      sum += values[i];
                  }
                  means[size_t(start / row)] = sum / double(row);
                }
              });
  return means;
}

/// Of large results the last rows are looked at first: an error too large there
/// is too large altogether.
static constexpr int64_t tailElements = int64_t(1) << 21;

/// Where these rows begin; 0 for small results.
static int64_t tailOf(const Tensor &tensor) {
  int64_t row = scaleRowOf(tensor), elements = tensor.elements();
  int64_t from = (elements - tailElements) / row * row;
  return elements > 4 * tailElements ? std::max<int64_t>(from, 0) : 0;
}

/// More than this is not kept for the stale competitor.
static constexpr int64_t keptElements = int64_t(1) << 24;

NegativeControls::NegativeControls(const Job &job) : job(job) {
  bool anyCopy = false, anyRow = false, small = true;
  int64_t largest = 0;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    anyCopy |= copiedInput(job, o) >= 0;
    anyRow |= job.outputs[o].elements() > 1;
    small &= job.outputs[o].elements() <= keptElements;
    largest = std::max(largest, job.outputs[o].elements());
  }
  auto add = [&](const char *name) { entries.push_back({name, false, ""}); };
  add(zeros);
  add(ones);
  if (anyCopy)
    add(copy);
  if (anyRow) {
    add(rowMean);
    add(first);
    add(tile);
  }
  if (small)
    add(stale);
  synthetic = entries.size();
}

namespace {
/// Tensors of one trial, each fetched from its end as far as it is asked for.
class Tails {
public:
  Tails(const NegativeControls::Fetch &fetch,
        const std::vector<Tensor> &tensors)
      : fetch(fetch), tensors(tensors), tails(tensors.size()) {}

  /// Elements from \p from on can be read.
  const void *get(size_t index, int64_t from) {
    Tail &tail = tails[index];
    if (!tail.data)
      tail.begin = tensors[index].elements();
    if (!tail.data || from < tail.begin)
      tail.data = fetch(index, from, tail.begin);
    tail.begin = std::min(tail.begin, from);
    return tail.data;
  }

private:
  struct Tail {
    const void *data = nullptr;
    int64_t begin = 0;
  };
  const NegativeControls::Fetch &fetch;
  const std::vector<Tensor> &tensors;
  std::vector<Tail> tails;
};
} // namespace

void NegativeControls::record(Competitor competitor) {
  auto known = std::find_if(
      entries.begin(), entries.end(),
      [&](const Competitor &entry) { return entry.name == competitor.name; });
  if (known != entries.end())
    *known = std::move(competitor);
  else
    entries.push_back(std::move(competitor));
}

/// Why an output is rejected by the conditions of its elements; empty: it is
/// not.
static std::string rejectByElements(const Job &job, size_t o,
                                    const Reader &fake, const Reader &reference,
                                    const Reader &condition,
                                    const ErrorContext &difficulty,
                                    int64_t tail,
                                    const std::string &trialName) {
  const Tensor &tensor = job.outputs[o];
  Shares shares = judgeElements(tensor, fake, reference, condition,
                                errorRuleOf(job, o, difficulty), tail);
  if (classify(shares, difficulty) <= job.acceptedPrecision)
    return {};
  char text[160];
  snprintf(text, sizeof(text),
           "rejected on %s: %lld mismatches, an error %.3g times its "
           "bound",
           trialName.c_str(), (long long)shares.mismatches,
           job.acceptedPrecision == Precision::IEEE   ? shares.ieee
           : job.acceptedPrecision == Precision::TF32 ? shares.tf32
                                                      : shares.half);
  return text;
}

/// The same by its rows, of which those from \p tail on are looked at first.
/// \p prepare: before both are read from an element on.
static std::string rejectByRows(const Job &job, size_t o, const Reader &fake,
                                const Reader &reference,
                                const ErrorContext &difficulty, int64_t tail,
                                const std::function<void(int64_t)> &prepare,
                                const std::string &trialName) {
  const Tensor &tensor = job.outputs[o];
  Measure m = measure(tensor, fake, reference, tail);
  bool fails = m.mismatches > 0 ||
               m.max > boundsOf(job, o, job.acceptedPrecision, difficulty).max;
  if (tail > 0 && (!fails || difficulty.rangeOnly)) {
    prepare(0);
    m = measure(tensor, fake, reference);
  }
  bool passes;
  if (isFloat(tensor.type)) {
    Precision got = classify(job, o, m, difficulty);
    passes = got <= job.acceptedPrecision;
  } else {
    passes = m.mismatches == 0 && m.max == 0;
  }
  if (passes)
    return {};
  char text[160];
  snprintf(text, sizeof(text), "rejected on %s: %s %.3g", trialName.c_str(),
           m.mismatches ? "mismatches" : "largest error",
           m.mismatches ? double(m.mismatches) : m.max);
  return text;
}

void NegativeControls::judge(const Fetch &inputs, const Fetch &references,
                             const std::vector<ErrorContext> &difficulties,
                             const std::string &trialName,
                             const Fetch &conditions) {
  bool keep = false;
  Tails operandTails(inputs, job.inputs), resultTails(references, job.outputs),
      conditionTails(conditions, job.outputs);
  for (size_t k = 0; k < synthetic; ++k) {
    Competitor &entry = entries[k];
    bool isStale = entry.name == stale;
    keep |= isStale && !entry.rejected;
    if (entry.rejected || (isStale && previous.empty()))
      continue;
    for (size_t o = 0; o < job.outputs.size() && !entry.rejected; ++o) {
      const Tensor &tensor = job.outputs[o];
      int64_t elements = tensor.elements();
      int64_t row = tensor.rowLength() > 1 ? tensor.rowLength() : elements;
      int64_t tail = isFloat(tensor.type) ? tailOf(tensor) : 0;
      Reader reference = readerOf(oracleType(tensor), resultTails.get(o, tail));
      Reader fake;
      std::vector<double> means;
      // Before both are read from an element on.
      std::function<void(int64_t)> prepare = [&](int64_t from) {
        resultTails.get(o, from);
      };
      auto constant = [](double value) {
        return [=](int64_t begin, int64_t end, double *out) {
          std::fill(out, out + (end - begin), value);
        };
      };
      if (entry.name == zeros) {
        fake = constant(0);
      } else if (entry.name == ones) {
        fake = constant(1);
      } else if (entry.name == copy) {
        int input = copiedInput(job, o);
        if (input < 0)
          continue;
        fake = readerOf(job.inputs[size_t(input)].type,
                        operandTails.get(size_t(input), tail));
        prepare = [&, input](int64_t from) {
          resultTails.get(o, from);
          operandTails.get(size_t(input), from);
        };
      } else if (entry.name == first) {
        if (elements < 2)
          continue;
        double value;
        readerOf(oracleType(tensor), references(o, 0, 1))(0, 1, &value);
        fake = constant(value);
      } else if (entry.name == rowMean) {
        if (elements < 2)
          continue;
        prepare = [&](int64_t from) {
          resultTails.get(o, from / row * row);
          means = rowMeans(reference, elements, row, from);
        };
        fake = [&means, row](int64_t begin, int64_t end, double *out) {
          for (int64_t i = begin; i < end; ++i)
            out[i - begin] = means[size_t(i / row)];
        };
      } else if (entry.name == tile) {
        if (elements < 2)
          continue;
        int64_t from = elements - std::max<int64_t>(1, elements / 16);
        fake = [=](int64_t begin, int64_t end, double *out) {
          reference(begin, end, out);
          for (int64_t i = std::max(begin, from); i < end; ++i)
            out[i - begin] = 0;
        };
      } else {
        const std::vector<double> &old = previous[o];
        fake = [&old](int64_t begin, int64_t end, double *out) {
          std::copy(old.begin() + begin, old.begin() + end, out);
        };
      }
      prepare(tail);
      entry.reason =
          conditions && isFloat(tensor.type)
              ? rejectByElements(
                    job, o, fake, reference,
                    readerOf(ElementType::F64, conditionTails.get(o, tail)),
                    difficulties[o], tail, trialName)
              : rejectByRows(job, o, fake, reference, difficulties[o], tail,
                             prepare, trialName);
      entry.rejected = !entry.reason.empty();
    }
  }
  if (!keep)
    return previous.clear();
  previous.resize(job.outputs.size());
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    int64_t elements = job.outputs[o].elements();
    previous[o].resize(size_t(elements));
    readerOf(oracleType(job.outputs[o]),
             resultTails.get(o, 0))(0, elements, previous[o].data());
  }
}

std::string NegativeControls::unrejected() const {
  for (const Competitor &entry : entries)
    if (!entry.rejected)
      return entry.name;
  return {};
}
