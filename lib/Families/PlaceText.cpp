//===- PlaceText.cpp - Loads at places of an index space ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceText.h"
#include "CudaText.h"
#include "Gathers.h"
#include "IndexSpace.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::PlacedLoad;
using families::PlaceText;

void families::collectLoads(Scope &scope, std::vector<PlacedLoad> &loads,
                            SmallVectorImpl<Lin> &walks) {
  scope.choosesPieces = true;
  scope.onIndex = [&walks](const Lin &index) { walks.push_back(index); };
  scope.onLoad = [&](const Buffer &buffer, const Lin &place) {
    PlacedLoad load{buffer, place, scope.mergedGuards()};
    if (llvm::any_of(loads, [&](const PlacedLoad &other) {
          return other.isSameAs(load);
        }))
      return;
    walks.push_back(place);
    loads.push_back(std::move(load));
  };
}

PlaceText::PlaceText(Program program, ArrayRef<unsigned> vars,
                     ArrayRef<MergedVars> merged, int64_t elements)
    : HeaderText(std::move(program)), vars(vars), merged(merged),
      elements(elements) {
  if (!vars.empty())
    inner = vars.back();
}

void PlaceText::setVector(int64_t most) {
  vector = inner ? most : 1;
  while (extentOf(inner) % vector != 0)
    vector /= 2;
}

/// Whether a guard says the same of `width` neighbours.
bool PlaceText::isUniform(const Guard &guard, int64_t width) const {
  if (guard.index.coefficient(*inner) == 0)
    return true;
  auto isCut = [&](int64_t bound) {
    Lin from = guard.index - Lin(bound);
    // In reverse the bound lies between the same neighbours.
    if (from.coefficient(*inner) == -1)
      from = (from + Lin(1)) * -1;
    return !families::areTogether(from, *inner, width);
  };
  auto [low, high] = program.range(guard.index);
  return (low >= guard.low || !isCut(guard.low)) &&
         (high < guard.high || !isCut(guard.high));
}

/// Whether one access loads `width` neighbours, or they share one element.
bool PlaceText::isOneAccess(const PlacedLoad &load, int64_t width) const {
  if (!llvm::all_of(
          load.guards,
          [&](const Guard &guard) { return isUniform(guard, width); }) ||
      families::isComputedWith(load, *inner, gathered))
    return false;
  int64_t step = load.place.coefficient(*inner);
  if (step == -1) {
    Lin first = load.place - Lin(width - 1);
    first.terms[*inner] = 1;
    return families::areTogether(first, *inner, width);
  }
  return step == 0 ||
         (step == 1 && families::areTogether(load.place, *inner, width));
}

int64_t PlaceText::widthOf(const PlacedLoad &load) const {
  int64_t width = vector;
  while (width > 1 && !isOneAccess(load, width))
    width /= 2;
  return width;
}

void PlaceText::writePlaceTypes(Block &body, Elem result) {
  writeTypes(body, result);
  os << families::vectorText() << families::streamText();
  writeOperands(body, result);
  os << "typedef " << (elements < (int64_t(1) << 31) ? "i32" : "i64")
     << " Index;\n";
}

void PlaceText::writePlaceStruct() {
  os << "struct Place {\n";
  for (unsigned var : vars)
    os << "  Index " << program.vars[var].name << ";\n";
  os << "};\n";
}

void PlaceText::writeValues(StringRef name, ArrayRef<PlacedLoad> loads) {
  os << "struct " << name << " {\n";
  for (auto [number, load] : llvm::enumerate(loads))
    os << "  " << families::cudaType(load.buffer.elem) << " "
       << memberOf(number) << ";\n";
  os << "};\n";
}

int64_t PlaceText::bytesOfValues(ArrayRef<PlacedLoad> loads) {
  int64_t all = 0, align = 1;
  for (const PlacedLoad &load : loads) {
    int64_t bytes = bytesOf(load.buffer.elem);
    all = (all + bytes - 1) / bytes * bytes + bytes;
    align = std::max(align, bytes);
  }
  return (all + align - 1) / align * align;
}

void PlaceText::writeVarsOf(StringRef place, std::optional<unsigned> except) {
  for (unsigned var : vars)
    if (var != except)
      os << "  const Index " << program.vars[var].name << " = " << place << "."
         << program.vars[var].name << ";\n";
}

void PlaceText::writeMadePlace() {
  os << "  Place p;\n";
  for (unsigned var : vars)
    os << "  p." << program.vars[var].name << " = " << program.vars[var].name
       << ";\n";
  os << "  return p;\n}\n";
}

/// What guards say, as text; empty: nothing.
std::string PlaceText::conditionOf(const PlacedLoad &load) {
  std::string condition, unused;
  Scope scope(program, unused, 0);
  for (const Guard &guard : load.guards) {
    std::string each = scope.guardText(guard);
    if (!each.empty())
      condition += (condition.empty() ? "" : " && ") + each;
  }
  return condition;
}

std::string PlaceText::indexText(std::set<unsigned> vars,
                                 ArrayRef<PlacedLoad> loads, StringRef value,
                                 unsigned indent) {
  std::string all;
  for (const GatheredIndex &each : llvm::reverse(gathered)) {
    if (!vars.count(each.var))
      continue;
    std::string text;
    Scope scope(program, text, indent);
    prepare(scope, loads, value);
    // Pads on the way to it may ask for others.
    scope.onIndex = [&vars](const Lin &index) {
      for (auto [var, coefficient] : index.terms)
        vars.insert(var);
    };
    CValue index = scope.convert(scope.valueOf(each), Elem::I64);
    scope.line("const i64 " + program.vars[each.var].name + " = (u64)" +
               index.text + " < " + Twine(each.extent) + " ? " + index.text +
               " : 0;");
    all = text + all;
  }
  return all;
}

void PlaceText::writeLoad(const PlacedLoad &load, unsigned number,
                          StringRef array, ArrayRef<PlacedLoad> loads) {
  int64_t width = widthOf(load),
          step = inner ? load.place.coefficient(*inner) : 0;
  bool isReversed = step == -1 && width > 1;
  Lin first = isReversed ? load.place - Lin(width - 1) : load.place;
  std::string from = load.buffer.pointer + " + " + program.linText(first);
  std::string condition = conditionOf(load);
  std::string at = inner ? program.vars[*inner].name : "";
  // Pieces that one access each loads.
  os << "#pragma unroll\n  for (int j = 0; j < " << vector << "; j += " << width
     << ") {\n    " << families::cudaType(load.buffer.elem) << " x[" << width
     << "] = {};\n";
  if (inner)
    os << "    const Index " << at << " = p." << at << " + j;\n";
  os << indexText(families::indicesOf(load, gathered), loads,
                  (array + "[j]").str(), 2);
  os << "    " << (condition.empty() ? "" : "if (" + condition + ") ");
  if (step == 0)
    os << "x[0] = *(" << from << ");\n";
  else
    os << "loadTogether<" << width << ", "
       << (load.isOnce && width == vector ? "ONCE" : "false") << ">(" << from
       << ", x);\n";
  os << "#pragma unroll\n    for (int k = 0; k < " << width << "; ++k) "
     << array << "[j + k]." << memberOf(number) << " = x["
     << (step == 0    ? "0"
         : isReversed ? std::to_string(width - 1) + " - k"
                      : "k")
     << "];\n  }\n";
}

void PlaceText::prepare(Scope &scope, ArrayRef<PlacedLoad> loads,
                        StringRef value) {
  scope.choosesPieces = true;
  scope.merged.assign(merged.begin(), merged.end());
  families::nameGathers(scope, gathered);
  scope.loaded = [loads, &scope, value = value.str()](
                     const Buffer &buffer,
                     const Lin &place) -> std::optional<CValue> {
    PlacedLoad wanted{buffer, place, scope.mergedGuards()};
    for (auto [number, load] : llvm::enumerate(loads)) {
      if (!load.isSameAs(wanted))
        continue;
      std::string text = value + "." + memberOf(number);
      if (buffer.elem != computeElem(buffer.elem))
        text = "(float)" + text;
      if (buffer.elem == Elem::I1)
        text = "(" + text + " != 0)";
      return CValue{text, computeElem(buffer.elem), false};
    }
    return std::nullopt;
  };
}
