//===- Winner.cpp - A lowering with how it was found ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Winner.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Support/Sha256.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fastk;

//===----------------------------------------------------------------------===//
// The record as an attribute
//===----------------------------------------------------------------------===//

/// Pieces of `text` that make it again, each to stand on a line of its own: a
/// model's idea has a thousand letters and more, which in one line no diff
/// shows.
static SmallVector<StringRef> linesOf(StringRef text) {
  constexpr size_t kWidth = 80;
  SmallVector<StringRef> lines;
  while (!text.empty()) {
    StringRef line = text.take_front(kWidth);
    if (size_t end = line.find('\n'); end != StringRef::npos) {
      line = line.take_front(end + 1);
    } else if (line.size() < text.size()) {
      if (size_t space = line.rfind(' '); space != StringRef::npos)
        line = line.take_front(space + 1);
      else
        line = text.take_front(text.find_first_of(" \n", kWidth));
    }
    lines.push_back(line);
    text = text.drop_front(line.size());
  }
  return lines;
}

DictionaryAttr WinnerRecord::toAttribute(MLIRContext *context) const {
  Builder b(context);
  auto dictionary = [&](ArrayRef<std::pair<StringRef, Attribute>> fields) {
    NamedAttrList list;
    for (auto [name, value] : fields)
      list.append(name, value);
    return list.getDictionary(context);
  };
  auto string = [&](StringRef s) -> Attribute { return b.getStringAttr(s); };
  auto integer = [&](int64_t i) -> Attribute { return b.getI64IntegerAttr(i); };
  // Six digits are more than any measurement has, and what MLIR prints in
  // decimal; others it prints as hexadecimal bits, for no one to read.
  auto real = [&](double d) -> Attribute {
    if (std::isfinite(d))
      llvm::to_float(llvm::formatv("{0:e5}", d).str(), d);
    return b.getF64FloatAttr(d);
  };
  // One string where one line has it.
  auto lines = [&](StringRef s) -> Attribute {
    SmallVector<StringRef> pieces = linesOf(s);
    return pieces.size() < 2 ? string(s) : b.getStrArrayAttr(pieces);
  };
  NamedAttrList errorList, parameterList;
  for (auto &[name, value] : errors)
    errorList.append(name, real(value));
  for (auto &[name, value] : parameters)
    parameterList.append(name, integer(value));
  std::vector<std::pair<StringRef, Attribute>> fields = {
      {"name", string(name)},
      {"shapes", string(shapes)},
      {"idea", dictionary({{"id", string(ideaId)},
                           {"category", string(category)},
                           {"title", string(title)},
                           {"text", lines(text)}})},
      {"machine", string(machine)},
      {"cpu", string(cpu)},
      {"threads", integer(threads)},
      {"time", dictionary({{"median_ns", real(medianNs)},
                           {"p10_ns", real(p10Ns)},
                           {"p90_ns", real(p90Ns)},
                           {"samples", integer(samples)}})},
      {"baseline_ns", real(baselineNs)},
      {"floor_ns", real(floorNs)},
      {"speedup", dictionary({{"median", real(speedup)},
                              {"low", real(speedupLow)},
                              {"high", real(speedupHigh)}})},
      {"errors", errorList.getDictionary(context)},
      {"parameters", parameterList.getDictionary(context)},
      {"mlir_version", string(mlirVersion)},
      {"fastk_version", string(fastkVersion)},
      {"seed", integer(seed)},
      {"evaluations", integer(evaluations)},
  };
  if (worstShare > 0)
    fields.emplace_back("worst_share", real(worstShare));
  if (bitwiseDeterministic)
    fields.emplace_back("bitwise_deterministic",
                        b.getBoolAttr(*bitwiseDeterministic));
  // Most winners cost none.
  if (tokens > 0) {
    fields.emplace_back("tokens", integer(tokens));
    fields.emplace_back("usd", real(usd));
    fields.emplace_back("models", string(models));
  }
  return dictionary(fields);
}

WinnerRecord WinnerRecord::fromAttribute(DictionaryAttr attribute) {
  WinnerRecord record;
  if (!attribute)
    return record;
  auto string = [](DictionaryAttr from, StringRef name, std::string &to) {
    if (auto value = from.getAs<StringAttr>(name))
      to = value.getValue().str();
  };
  auto integer = [](DictionaryAttr from, StringRef name, int64_t &to) {
    if (auto value = from.getAs<IntegerAttr>(name))
      if (value.getValue().getBitWidth() <= 64)
        to = value.getValue().getSExtValue();
  };
  auto real = [](DictionaryAttr from, StringRef name, double &to) {
    if (auto value = from.getAs<FloatAttr>(name))
      to = value.getValueAsDouble();
  };
  auto nested = [&](StringRef name) {
    auto value = attribute.getAs<DictionaryAttr>(name);
    return value ? value : DictionaryAttr::get(attribute.getContext());
  };
  string(attribute, "name", record.name);
  string(attribute, "shapes", record.shapes);
  string(nested("idea"), "id", record.ideaId);
  string(nested("idea"), "category", record.category);
  string(nested("idea"), "title", record.title);
  string(nested("idea"), "text", record.text);
  if (auto pieces = nested("idea").getAs<ArrayAttr>("text"))
    for (Attribute piece : pieces)
      if (auto line = dyn_cast<StringAttr>(piece))
        record.text += line.getValue();
  string(attribute, "machine", record.machine);
  string(attribute, "cpu", record.cpu);
  integer(attribute, "threads", record.threads);
  real(nested("time"), "median_ns", record.medianNs);
  real(nested("time"), "p10_ns", record.p10Ns);
  real(nested("time"), "p90_ns", record.p90Ns);
  integer(nested("time"), "samples", record.samples);
  real(attribute, "baseline_ns", record.baselineNs);
  real(attribute, "floor_ns", record.floorNs);
  real(nested("speedup"), "median", record.speedup);
  real(nested("speedup"), "low", record.speedupLow);
  real(nested("speedup"), "high", record.speedupHigh);
  for (NamedAttribute field : nested("errors"))
    if (auto value = dyn_cast<FloatAttr>(field.getValue()))
      record.errors[field.getName().str()] = value.getValueAsDouble();
  real(attribute, "worst_share", record.worstShare);
  if (auto value = attribute.getAs<BoolAttr>("bitwise_deterministic"))
    record.bitwiseDeterministic = value.getValue();
  for (NamedAttribute field : nested("parameters"))
    if (auto value = dyn_cast<IntegerAttr>(field.getValue()))
      record.parameters[field.getName().str()] = value.getInt();
  string(attribute, "mlir_version", record.mlirVersion);
  string(attribute, "fastk_version", record.fastkVersion);
  integer(attribute, "seed", record.seed);
  integer(attribute, "evaluations", record.evaluations);
  integer(attribute, "tokens", record.tokens);
  real(attribute, "usd", record.usd);
  string(attribute, "models", record.models);
  return record;
}

LoweringOp Winner::getLowering() const {
  return *module.get().getBody()->getOps<LoweringOp>().begin();
}

WinnerRecord Winner::getRecord() const {
  return WinnerRecord::fromAttribute(getLowering().getRecordAttr());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef fastk::programFileName(Language language) {
  switch (language) {
  case Language::generic:
    return "";
  case Language::schedule:
    return "schedule.mlir";
  case Language::c:
    return "kernel.c";
  case Language::cuda:
    return "kernel.cu";
  case Language::gpu:
    return "kernel.mlir";
  case Language::ptx:
    return "kernel.ptx";
  }
  llvm_unreachable("all languages are named above");
}

std::string fastk::describeShapes(LoweringOp lowering) {
  SmallVector<std::string> shapes;
  for (Type type : lowering.getPatternBlock()->getArgumentTypes()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto shaped = dyn_cast<ShapedType>(type)) {
      if (shaped.hasRank())
        for (int64_t size : shaped.getShape())
          os << (ShapedType::isDynamic(size) ? "d" : std::to_string(size))
             << "x";
      os << shaped.getElementType();
    } else {
      os << type;
    }
    if (!llvm::is_contained(shapes, text))
      shapes.push_back(text);
  }
  return llvm::join(shapes, "_");
}

//===----------------------------------------------------------------------===//
// Building and printing
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> fastk::buildWinner(LoweringOp workload, Language language,
                                         StringRef program,
                                         int64_t workspaceBytes,
                                         StringRef target, Precision precision,
                                         const WinnerRecord &record,
                                         const worker::LaunchPlan *plan) {
  MLIRContext *context = workload.getContext();
  Builder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(workload.getLoc());
  auto lowering = cast<LoweringOp>(workload->clone());
  module->getBody()->push_back(lowering);
  lowering.setTarget(target);
  lowering.setPrecision(precision);
  lowering.setLanguage(language);
  lowering.setWorkspace(workspaceBytes);
  lowering.getPlan().getBlocks().clear();
  if (plan)
    writePlan(lowering, *plan);
  if (language == Language::generic) {
    lowering.removeFileAttr();
    lowering.removeDigestAttr();
    lowering.removeSealAttr();
    lowering.removeSourceAttr();
  } else {
    lowering.setFile(programFileName(language));
    lowering.setDigest(sha256(program));
    lowering.setSource(program);
    lowering.setSeal(lowering.computeSeal());
  }
  lowering.setRecordAttr(record.toAttribute(context));
  return module;
}

/// True for what WinnerRecord makes of a long text.
static bool isLines(Attribute value) {
  auto pieces = dyn_cast<ArrayAttr>(value);
  return pieces && pieces.size() > 1 &&
         llvm::all_of(pieces, [](Attribute a) { return isa<StringAttr>(a); });
}

static void printLines(ArrayAttr lines, unsigned indent, raw_ostream &os) {
  os << "[";
  llvm::interleave(
      lines,
      [&](Attribute line) {
        os << "\n";
        os.indent(indent + 2);
        line.print(os);
      },
      [&] { os << ","; });
  os << "\n";
  os.indent(indent);
  os << "]";
}

/// One field a line; nested dictionaries are indented.
static void printFields(DictionaryAttr dictionary, unsigned indent,
                        raw_ostream &os) {
  os << "{";
  bool first = true;
  for (NamedAttribute field : dictionary) {
    os << (first ? "\n" : ",\n");
    first = false;
    os.indent(indent + 2);
    StringRef name = field.getName();
    bool bare = !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
                llvm::all_of(name, [](char c) {
                  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
                });
    if (bare) {
      os << name;
    } else {
      os << '"';
      llvm::printEscapedString(name, os);
      os << '"';
    }
    os << " = ";
    if (auto nested = dyn_cast<DictionaryAttr>(field.getValue()))
      printFields(nested, indent + 2, os);
    else if (isLines(field.getValue()))
      printLines(cast<ArrayAttr>(field.getValue()), indent + 2, os);
    else
      field.getValue().print(os);
  }
  if (!first) {
    os << "\n";
    os.indent(indent);
  }
  os << "}";
}

std::string fastk::printLoweringFile(LoweringOp lowering) {
  // MLIR prints all attributes on the op's first line, where no reader of a
  // diff can tell what changed. They are printed here one a line; the regions
  // stay as MLIR prints them, which is all that follows the first line.
  NamedAttrList attributes(lowering->getAttrDictionary());
  attributes.erase(lowering.getSymNameAttrName());
  attributes.erase(lowering.getSourceAttrName());

  OpPrintingFlags flags;
  flags.useLocalScope().enableDebugInfo(false);
  // Nothing may be elided, whatever the command line says.
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  flags.elideLargeElementsAttrs(kNoLimit).elideLargeResourceString(kNoLimit);
  std::string text;
  llvm::raw_string_ostream bodyStream(text);
  lowering->print(bodyStream, flags);

  std::string file;
  llvm::raw_string_ostream os(file);
  os << "// RUN: fastk-opt %s\n";
  os << "fastk.lowering @" << lowering.getSymName() << " attributes ";
  printFields(attributes.getDictionary(lowering.getContext()), 0, os);
  os << " pattern {\n" << StringRef(text).split('\n').second;
  if (!StringRef(file).ends_with("\n"))
    os << "\n";
  return file;
}
