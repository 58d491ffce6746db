//===- ConvolutionText.cpp - A convolution as MLIR's text -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/ConvolutionText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::ConvolutionText;

/// Letters of the axes: the result's, the input's, the kernel's.
static constexpr StringLiteral kResult = "zyx", kInput = "ZYX", kKernel = "uvw";

/// The place of a dimension among the axes' letters of its kind.
static std::optional<size_t> placeOf(StringRef letters, char dim) {
  size_t place = letters.find(dim);
  if (place == StringRef::npos)
    return std::nullopt;
  return place;
}

const ConvolutionText::Axis *ConvolutionText::axisOf(char dim) const {
  size_t place = *placeOf(kResult, dim), missing = kResult.size() - axes.size();
  return place < missing ? nullptr : &axes[place - missing];
}

int64_t ConvolutionText::extent(char dim) const {
  for (StringRef letters : {kResult, kInput, kKernel})
    if (auto place = placeOf(letters, dim)) {
      const Axis *axis = axisOf(kResult[*place]);
      if (!axis)
        return 1;
      return letters == kResult  ? axis->out()
             : letters == kInput ? axis->in
                                 : axis->kernel;
    }
  switch (dim) {
  case 'n':
    return batch;
  case 'g':
    return groups;
  case 'c':
    return inChannels;
  case 'o':
    return outChannels;
  case 'C':
    return groups * inChannels;
  default:
    return groups * outChannels;
  }
}

int64_t ConvolutionText::terms() const {
  return elements(out) * elements("uvw") *
         (StringRef(w).contains('c') ? inChannels : 1);
}

/// Dimensions with those that are two in one apart.
std::string ConvolutionText::expanded(StringRef dims) const {
  std::string apart;
  for (char dim : dims)
    apart += dim == 'C' ? "gc" : dim == 'O' ? "go" : std::string(1, dim);
  return apart;
}

/// X with its zeros.
static std::string join(ArrayRef<int64_t> numbers, StringRef between) {
  return llvm::join(
      map_range(numbers, [](int64_t n) { return Twine(n).str(); }), between);
}

/// Of each dimension of X: how many zeros before and after, and the step.
struct Surrounding {
  SmallVector<int64_t> low, high, steps, in, padded;
};
static Surrounding surroundingOf(const ConvolutionText &text, StringRef dims) {
  Surrounding all;
  for (char dim : dims) {
    auto place = placeOf(kInput, dim);
    size_t missing = kInput.size() - text.axes.size();
    ConvolutionText::Axis axis;
    if (place)
      axis = text.axes[*place - missing];
    else
      axis.low = axis.high = 0;
    axis.in = text.extent(dim);
    all.low.push_back(axis.low);
    all.high.push_back(axis.high);
    all.steps.push_back(axis.inputDilation);
    all.in.push_back(axis.in);
    all.padded.push_back(axis.padded());
  }
  return all;
}

std::string ConvolutionText::paddedTensor() const {
  return "tensor<" + ::join(surroundingOf(*this, x).padded, "x") + "x" + type +
         ">";
}

std::string ConvolutionText::writeZeros(raw_ostream &os, StringRef from) const {
  Surrounding all = surroundingOf(*this, x);
  if (all.in == all.padded)
    return from.str();
  std::string source = tensor(x, type), made = paddedTensor();
  os << "  %none_x = arith.constant 0.0 : " << type << "\n";
  if (any_of(all.steps, [](int64_t step) { return step != 1; })) {
    std::string ones = ::join(SmallVector<int64_t>(x.size(), 1), ", ");
    os << "  %spread_empty = tensor.empty() : " << made
       << "\n  %spread_zero = linalg.fill ins(%none_x : " << type
       << ") outs(%spread_empty : " << made << ") -> " << made
       << "\n  %padded = tensor.insert_slice " << from << " into %spread_zero["
       << ::join(all.low, ", ") << "] [" << ::join(all.in, ", ") << "] ["
       << ::join(all.steps, ", ") << "] : " << source << " into " << made
       << "\n";
    return "%padded";
  }
  os << "  %padded = tensor.pad " << from << " low[" << ::join(all.low, ", ")
     << "] high[" << ::join(all.high, ", ") << "] {\n  ^bb0(";
  for (size_t d = 0; d < x.size(); ++d)
    os << (d ? ", " : "") << "%i" << d << ": index";
  os << "):\n    tensor.yield %none_x : " << type << "\n  } : " << source
     << " to " << made << "\n";
  return "%padded";
}

std::string ConvolutionText::writeReshape(raw_ostream &os, StringRef op,
                                          StringRef from, StringRef fromType,
                                          StringRef to, StringRef dims) const {
  std::string made = (from + "_" + op).str();
  os << "  " << made << " = tensor." << op << "_shape " << from << " [";
  unsigned next = 0;
  for (auto [d, dim] : enumerate(dims)) {
    os << (d ? ", [" : "[") << next++;
    if (dim == 'C' || dim == 'O')
      os << ", " << next++;
    os << "]";
  }
  os << "]";
  if (op == "expand") {
    // The result's shape is in its type.
    StringRef shape = to.split('<').second.rsplit('x').first;
    SmallVector<StringRef> sizes;
    shape.split(sizes, 'x');
    os << " output_shape [" << llvm::join(sizes, ", ") << "]";
  }
  os << " : " << fromType << " into " << to << "\n";
  return made;
}

/// The op that sums, up to its operands.
std::string ConvolutionText::sumOp() const {
  std::string result = expanded(out), kernel = expanded(w), loops = result;
  for (char dim : kernel)
    if (!StringRef(loops).contains(dim))
      loops += dim;
  auto list = [](StringRef dims) {
    std::vector<std::string> names;
    for (char dim : dims)
      names.emplace_back(1, dim);
    return "(" + llvm::join(names, ", ") + ")";
  };
  std::vector<std::string> places, iterators;
  for (char dim : expanded(x)) {
    auto place = placeOf(kInput, dim);
    if (!place) {
      places.emplace_back(1, dim);
      continue;
    }
    const Axis *axis = axisOf(kResult[*place]);
    places.push_back(std::string(1, kResult[*place]) + " * " +
                     std::to_string(axis->stride) + " + " + kKernel[*place] +
                     " * " + std::to_string(axis->dilation));
  }
  for (char dim : loops)
    iterators.emplace_back(StringRef(result).contains(dim) ? "\"parallel\""
                                                           : "\"reduction\"");
  std::string map = "affine_map<" + list(loops) + " -> ";
  return "linalg.generic {indexing_maps = [" + map + "(" +
         llvm::join(places, ", ") + ")>, " + map + list(kernel) + ">, " + map +
         list(result) + ">], iterator_types = [" + llvm::join(iterators, ", ") +
         "]}";
}

void ConvolutionText::writeSum(raw_ostream &os, StringRef left,
                               StringRef right) const {
  std::string leftType = paddedTensor(), rightType = tensor(w, type);
  std::string xLoops = expanded(x), wLoops = expanded(w),
              outLoops = expanded(out);
  std::string x0 = left.str(), w0 = right.str();
  if (xLoops != x) {
    std::string to = "tensor<";
    Surrounding all = surroundingOf(*this, xLoops);
    to += ::join(all.padded, "x") + "x" + type + ">";
    x0 = writeReshape(os, "expand", left, leftType, to, x);
    leftType = to;
  }
  if (wLoops != w) {
    w0 = writeReshape(os, "expand", right, rightType, tensor(wLoops, type), w);
    rightType = tensor(wLoops, type);
  }
  std::string sums = tensor(outLoops, "f32");
  os << "  %sums_empty = tensor.empty() : " << sums
     << "\n  %sums_zero = linalg.fill ins(%zero : f32) outs(%sums_empty : "
     << sums << ") -> " << sums << "\n  %sums = " << sumOp() << " ins(" << x0
     << ", " << w0 << " : " << leftType << ", " << rightType
     << ") outs(%sums_zero : " << sums << ") ";
  writeProduct(os);
  os << " -> " << sums << "\n";
  if (outLoops == out)
    return writeTail(os, "%sums");
  writeTail(
      os, writeReshape(os, "collapse", "%sums", sums, tensor(out, "f32"), out));
}

std::string ConvolutionText::str() const {
  std::string text;
  raw_string_ostream os(text);
  os << "func.func @" << name << "(%data: " << tensor(x, storedType(prologueX))
     << ", %w: " << tensor(w, storedType(prologueW));
  writeScale(os, prologueX, "data");
  writeScale(os, prologueW, "w");
  writeTailArguments(os);
  os << ") -> " << tensor(out, result) << " {\n"
     << "  %zero = arith.constant 0.0 : f32\n";
  std::string left = writePrologue(os, prologueX, "data", x);
  std::string right = writePrologue(os, prologueW, "w", w);
  writeSum(os, writeZeros(os, left), right);
  os << "  return %made : " << tensor(out, result) << "\n}\n";
  return text;
}
