//===- LaunchPlanJSON.cpp - Plans as JSON ---------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchPlanJSON.h"
#include "fastk/Protocol/Names.h"
#include <charconv>

using namespace fastk::worker;

using Space = BufferRef::Space;

static constexpr Name<Space> spaceNames[] = {
    {Space::Input, "in"}, {Space::Output, "out"}, {Space::Workspace, "ws"}};
static constexpr Name<PlanScalar::Type> scalarNames[] = {
    {PlanScalar::Type::I32, "i32"},
    {PlanScalar::Type::I64, "i64"},
    {PlanScalar::Type::F32, "f32"},
    {PlanScalar::Type::F64, "f64"}};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// More than any device has of anything; keeps sums far from overflow.
static constexpr int64_t largest = int64_t(1) << 46;

/// "in0", "ws1+4096".
static std::optional<BufferRef> parseBuffer(std::string_view text) {
  for (const Name<Space> &name : spaceNames) {
    if (text.substr(0, name.text.size()) != name.text)
      continue;
    BufferRef ref;
    ref.space = name.value;
    const char *end = text.data() + text.size();
    auto [at, bad] =
        std::from_chars(text.data() + name.text.size(), end, ref.index);
    if (bad != std::errc() || ref.index < 0)
      return std::nullopt;
    if (at == end)
      return ref;
    if (*at != '+')
      return std::nullopt;
    auto [last, wrong] = std::from_chars(at + 1, end, ref.offset);
    if (wrong != std::errc() || last != end || ref.offset < 0 ||
        ref.offset > largest)
      return std::nullopt;
    return ref;
  }
  return std::nullopt;
}

static constexpr const char *bufferWords =
    "'in0', 'out0' or 'ws0', with '+BYTES' behind it for an offset";

static void readFixedBuffer(ObjectReader &reader, const char *key,
                            BufferRef &ref) {
  std::string text;
  if (!reader.readString(key, text))
    return;
  if (std::optional<BufferRef> parsed = parseBuffer(text))
    ref = *parsed;
  else
    reader.fail(key, "is '" + text.substr(0, 40) + "'; write " + bufferWords);
}

static bool readNumber(const Json &value, const std::string &where, int64_t low,
                       int64_t &out, std::string &error) {
  bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() ||
                                    value.get<uint64_t>() <= uint64_t(largest));
  out = fits ? value.get<int64_t>() : low - 1;
  if (out >= low && out <= largest)
    return true;
  error = where + ": must be a whole number from " +
          (low == -largest ? "-2^46" : std::to_string(low)) + " to 2^46";
  return false;
}

static std::vector<int64_t> readNumbers(ObjectReader &reader, const char *key,
                                        int64_t low, std::string &error,
                                        bool optional = false) {
  std::vector<int64_t> numbers;
  reader.readArray(
      key,
      [&](const Json &value, const std::string &where) {
        int64_t number = 0;
        if (error.empty() && readNumber(value, where, low, number, error))
          numbers.push_back(number);
      },
      optional);
  return numbers;
}

/// {"buffer": "ws0", "each": [4096], "odd": [64]}: a place that moves with the
/// iterations of the repeats around it.
static BufferRef readMovingBuffer(const Json &value, std::string path,
                                  std::string &error) {
  BufferRef ref;
  ObjectReader reader(value, std::move(path), error);
  readFixedBuffer(reader, "buffer", ref);
  auto each = readNumbers(reader, "each", -largest, error, /*optional=*/true);
  auto odd = readNumbers(reader, "odd", -largest, error, /*optional=*/true);
  ref.motions.resize(std::max(each.size(), odd.size()));
  for (size_t i = 0; i < each.size(); ++i)
    ref.motions[i].each = each[i];
  for (size_t i = 0; i < odd.size(); ++i)
    ref.motions[i].odd = odd[i];
  if (ref.motions.size() > mostRepeatDepth)
    reader.fail("each", "moves in more repeats than may be in each other, " +
                            std::to_string(mostRepeatDepth));
  reader.finish();
  return ref;
}

static void readBuffer(ObjectReader &reader, const char *key, BufferRef &ref,
                       PlanOf whose, std::string &error) {
  if (whose != PlanOf::Model || !reader.isObject(key))
    return readFixedBuffer(reader, key, ref);
  reader.readObject(key, [&](const Json &place, std::string path) {
    ref = readMovingBuffer(place, std::move(path), error);
  });
}

static void readDim3(ObjectReader &reader, const char *key, Dim3 &out,
                     std::string &error, bool optional) {
  std::vector<int64_t> numbers = readNumbers(reader, key, 1, error, optional);
  if (!reader.ok() || (optional && numbers.empty()))
    return;
  if (numbers.empty() || numbers.size() > 3) {
    reader.fail(key, "has " + std::to_string(numbers.size()) +
                         " extents; write one to three, as [132, 1, 1]");
    return;
  }
  out = {1, 1, 1};
  std::copy(numbers.begin(), numbers.end(), out.begin());
}

/// {"i32": 5}
static std::optional<PlanScalar>
readScalar(const Json &value, const std::string &where, std::string &error) {
  if (value.size() == 1)
    if (auto type = valueOf(scalarNames, value.begin().key())) {
      const Json &number = value.begin().value();
      PlanScalar scalar;
      scalar.type = *type;
      bool isReal =
          *type == PlanScalar::Type::F32 || *type == PlanScalar::Type::F64;
      if (isReal && number.is_number()) {
        scalar.real = number.get<double>();
        // What the kernel is given, so that a plan read twice is the same.
        if (*type == PlanScalar::Type::F32)
          scalar.real = double(float(scalar.real));
        return scalar;
      }
      bool fits = number.is_number_integer() &&
                  (!number.is_number_unsigned() ||
                   number.get<uint64_t>() <= uint64_t(INT64_MAX));
      int64_t integer = fits ? number.get<int64_t>() : 0;
      if (*type == PlanScalar::Type::I32)
        fits &= integer >= INT32_MIN && integer <= INT32_MAX;
      if (!isReal && fits) {
        scalar.integer = integer;
        return scalar;
      }
    }
  error = where + ": a scalar is {\"i32\": 5}, {\"i64\": 5}, {\"f32\": 0.5} or "
                  "{\"f64\": 0.5}, with a value that the type holds";
  return std::nullopt;
}

static std::optional<PlanArgument> readArgument(const Json &value,
                                                const std::string &where,
                                                PlanOf whose,
                                                std::string &error) {
  if (value.is_object() && value.contains("buffer")) {
    if (whose == PlanOf::Model)
      return PlanArgument(readMovingBuffer(value, where, error));
    error = where +
            ": only in the plan of a whole model do places move; write " +
            bufferWords;
    return std::nullopt;
  }
  if (value.is_object()) {
    if (auto scalar = readScalar(value, where, error))
      return PlanArgument(*scalar);
    return std::nullopt;
  }
  if (const auto *text = value.get_ptr<const std::string *>()) {
    if (auto buffer = parseBuffer(*text))
      return PlanArgument(*buffer);
    TensorMapRef map;
    const char *end = text->data() + text->size();
    if (text->rfind("map", 0) == 0) {
      auto [at, bad] = std::from_chars(text->data() + 3, end, map.index);
      if (bad == std::errc() && at == end && map.index >= 0)
        return PlanArgument(map);
    }
  }
  error = where + ": write " + bufferWords +
          ", 'map0' for a tensor map, or a scalar as {\"i32\": 5}";
  return std::nullopt;
}

static Launch readLaunch(ObjectReader &reader, PlanOf whose,
                         std::string &error) {
  Launch launch;
  if (reader.readString("launch", launch.kernel))
    if (std::string problem = checkKernelName(launch.kernel); !problem.empty())
      reader.fail("launch", problem);
  readDim3(reader, "grid", launch.grid, error, false);
  readDim3(reader, "block", launch.block, error, false);
  readDim3(reader, "cluster", launch.cluster, error, true);
  reader.readInt("shared_bytes", launch.sharedBytes, 0, largest, true);
  reader.readBool("cooperative", launch.cooperative, true);
  reader.readBool("overlaps_previous", launch.overlapsPrevious, true);
  reader.readArray(
      "arguments", [&](const Json &value, const std::string &where) {
        if (!error.empty())
          return;
        if (auto argument = readArgument(value, where, whose, error))
          launch.arguments.push_back(*argument);
      });
  return launch;
}

static Memset readMemset(ObjectReader &reader, PlanOf whose,
                         std::string &error) {
  Memset memset;
  readBuffer(reader, "memset", memset.target, whose, error);
  reader.readInt("bytes", memset.bytes, 1, largest);
  int64_t value = 0;
  reader.readInt("value", value, 0, 255, true);
  memset.value = uint8_t(value);
  return memset;
}

static TensorMap readTensorMap(const Json &value, std::string path,
                               PlanOf whose, std::string &error) {
  TensorMap map;
  ObjectReader reader(value, std::move(path), error);
  auto word = [&](const char *key, auto &out, auto parse, const char *words,
                  bool optional = true) {
    reader.readEnum(key, out, parse, words, optional);
  };
  readBuffer(reader, "buffer", map.buffer, whose, error);
  word("type", map.type, parseTensorMapType,
       "u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, tf32", false);
  map.dims = readNumbers(reader, "dims", 1, error);
  map.strides = readNumbers(reader, "strides", 1, error, true);
  map.box = readNumbers(reader, "box", 1, error);
  map.elementStrides = readNumbers(reader, "element_strides", 1, error, true);
  word("interleave", map.interleave, parseInterleave, "none, 16B, 32B");
  word("swizzle", map.swizzle, parseSwizzle, "none, 32B, 64B, 128B");
  word("l2_promotion", map.promotion, parsePromotion, "none, 64B, 128B, 256B");
  word("oob_fill", map.fill, parseFill, "zero, nan");
  reader.finish();
  return map;
}

namespace {
/// Reads the lists of a plan.
class PlanReader {
public:
  PlanReader(PlanOf whose, std::string &error) : whose(whose), error(error) {}

  std::optional<LaunchPlan> read(const Json &document);

private:
  /// Whether there is no room for one more.
  bool isFull(ObjectReader &reader, const char *key, size_t count);
  void readSteps(ObjectReader &reader, bool mayBeEmpty, size_t depth);
  void readStep(const Json &value, const std::string &path, size_t depth);
  void readRepeat(ObjectReader &reader, size_t depth);

  const PlanOf whose;
  std::string &error;
  LaunchPlan plan;
};
} // namespace

bool PlanReader::isFull(ObjectReader &reader, const char *key, size_t count) {
  size_t most = mostPlanEntries(whose);
  if (error.empty() && count >= most)
    reader.fail(key, "has more than " + std::to_string(most) + " entries; no " +
                         (whose == PlanOf::Model ? "model" : "kernel") +
                         " needs that");
  return !error.empty();
}

void PlanReader::readRepeat(ObjectReader &reader, size_t depth) {
  Repeat repeat;
  reader.readInt("repeat", repeat.count, 1, largest);
  if (depth == mostRepeatDepth)
    reader.fail("repeat", "is in " + std::to_string(depth) +
                              " others; write its steps out");
  size_t place = plan.steps.size();
  plan.steps.emplace_back(repeat);
  readSteps(reader, /*mayBeEmpty=*/false, depth + 1);
  std::get<Repeat>(plan.steps[place]).size =
      int64_t(plan.steps.size() - place - 1);
}

void PlanReader::readStep(const Json &value, const std::string &path,
                          size_t depth) {
  auto has = [&](const char *key) {
    return value.is_object() && value.contains(key);
  };
  bool isRepeat = has("repeat");
  if (isRepeat && whose != PlanOf::Model) {
    error = path + ".repeat: only the plan of a whole model repeats steps; "
                   "write each step, or put the loop into the kernel";
    return;
  }
  if (value.is_object() && has("launch") + has("memset") + isRepeat != 1) {
    error = path + (whose == PlanOf::Model
                        ? ": a step is a launch, a memset or a repeat; write "
                          "one of the fields 'launch', 'memset' and 'repeat'"
                        : ": a step is a launch or a memset; write one of the "
                          "fields 'launch' and 'memset'");
    return;
  }
  ObjectReader fields(value, path, error);
  if (isRepeat)
    readRepeat(fields, depth);
  else if (has("launch"))
    plan.steps.emplace_back(readLaunch(fields, whose, error));
  else
    plan.steps.emplace_back(readMemset(fields, whose, error));
  fields.finish();
}

void PlanReader::readSteps(ObjectReader &reader, bool mayBeEmpty,
                           size_t depth) {
  bool any = false;
  reader.readArray(
      "steps",
      [&](const Json &value, const std::string &path) {
        any = true;
        if (!isFull(reader, "steps", plan.steps.size()))
          readStep(value, path, depth);
      },
      /*optional=*/mayBeEmpty);
  if (reader.ok() && !any && !mayBeEmpty)
    reader.fail("steps", depth ? "is empty; a repeat has what it repeats"
                               : "is empty; a program launches something");
}

std::optional<LaunchPlan> PlanReader::read(const Json &document) {
  ObjectReader reader(document, "$", error);
  int64_t format = 0;
  reader.readInt("format", format, 0, INT64_MAX);
  if (reader.ok() && format != planFormat)
    reader.fail("format", "is " + std::to_string(format) +
                              "; this version reads format 1");
  reader.readArray(
      "workspaces",
      [&](const Json &value, std::string path) {
        if (isFull(reader, "workspaces", plan.workspaces.size()))
          return;
        Workspace workspace;
        ObjectReader fields(value, std::move(path), error);
        fields.readInt("bytes", workspace.bytes, 1, largest);
        fields.readBool("zero", workspace.zero, true);
        fields.finish();
        plan.workspaces.push_back(workspace);
      },
      true);
  reader.readArray(
      "tensor_maps",
      [&](const Json &value, std::string path) {
        if (!isFull(reader, "tensor_maps", plan.tensorMaps.size()))
          plan.tensorMaps.push_back(
              readTensorMap(value, std::move(path), whose, error));
      },
      true);
  // A model whose results have no elements does nothing.
  readSteps(reader, /*mayBeEmpty=*/whose == PlanOf::Model, /*depth=*/0);
  if (!reader.finish())
    return std::nullopt;
  return std::move(plan);
}

std::optional<LaunchPlan> fastk::worker::parseLaunchPlan(std::string_view text,
                                                         std::string &error,
                                                         PlanOf whose) {
  std::optional<Json> document = parseDocument(text, "plan", error);
  if (!document)
    return std::nullopt;
  return readLaunchPlan(*document, error, whose);
}

std::optional<LaunchPlan> fastk::worker::readLaunchPlan(const Json &document,
                                                        std::string &error,
                                                        PlanOf whose) {
  return PlanReader(whose, error).read(document);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json toJson(const BufferRef &ref) {
  std::string text(nameOf(spaceNames, ref.space));
  text += std::to_string(ref.index);
  if (ref.offset)
    text += "+" + std::to_string(ref.offset);
  Json json = {{"buffer", text}};
  auto list = [&](const char *key, int64_t Motion::*bytes) {
    Json numbers = Json::array();
    bool moves = false;
    for (const Motion &motion : ref.motions) {
      numbers.push_back(motion.*bytes);
      moves |= motion.*bytes != 0;
    }
    if (moves)
      json[key] = std::move(numbers);
  };
  list("each", &Motion::each);
  list("odd", &Motion::odd);
  return json.size() == 1 ? Json(text) : json;
}

/// The shortest decimal that gives the same float back: 1e-05, where the float
/// as a double would be 9.999999747378752e-06.
static double shortest(float value) {
  char text[32];
  auto [end, bad] = std::to_chars(text, text + sizeof(text), value);
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

static Json toJson(const PlanArgument &argument) {
  if (const auto *buffer = std::get_if<BufferRef>(&argument))
    return toJson(*buffer);
  if (const auto *map = std::get_if<TensorMapRef>(&argument))
    return "map" + std::to_string(map->index);
  const auto &scalar = std::get<PlanScalar>(argument);
  std::string key(nameOf(scalarNames, scalar.type));
  if (scalar.type == PlanScalar::Type::F32)
    return {{key, shortest(float(scalar.real))}};
  if (scalar.type == PlanScalar::Type::F64)
    return {{key, scalar.real}};
  return {{key, scalar.integer}};
}

static Json toJson(const Launch &launch) {
  Json json;
  json["launch"] = launch.kernel;
  json["grid"] = launch.grid;
  json["block"] = launch.block;
  if (launch.cluster != Dim3{1, 1, 1})
    json["cluster"] = launch.cluster;
  if (launch.sharedBytes)
    json["shared_bytes"] = launch.sharedBytes;
  if (launch.cooperative)
    json["cooperative"] = true;
  if (launch.overlapsPrevious)
    json["overlaps_previous"] = true;
  json["arguments"] = Json::array();
  for (const PlanArgument &argument : launch.arguments)
    json["arguments"].push_back(toJson(argument));
  return json;
}

static Json toJson(const Memset &memset) {
  Json json;
  json["memset"] = toJson(memset.target);
  json["bytes"] = memset.bytes;
  json["value"] = memset.value;
  return json;
}

static Json toJson(const TensorMap &map) {
  Json json;
  json["buffer"] = toJson(map.buffer);
  json["type"] = toString(map.type);
  json["dims"] = map.dims;
  json["strides"] = map.strides;
  if (map.strides.empty())
    json["strides"] = Json::array();
  json["box"] = map.box;
  if (!map.elementStrides.empty())
    json["element_strides"] = map.elementStrides;
  json["interleave"] = toString(map.interleave);
  json["swizzle"] = toString(map.swizzle);
  json["l2_promotion"] = toString(map.promotion);
  json["oob_fill"] = toString(map.fill);
  return json;
}

static std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The steps from \p first to before \p last, one a line, those in a repeat
/// further in.
static std::string toText(const LaunchPlan &plan, size_t first, size_t last,
                          const std::string &indent) {
  std::string text, separator = "\n" + indent;
  for (size_t i = first; i < last; ++i) {
    text += separator;
    separator = ",\n" + indent;
    const PlanStep &step = plan.steps[i];
    if (const auto *repeat = std::get_if<Repeat>(&step)) {
      size_t end = std::min(last, i + 1 + size_t(repeat->size));
      text += "{\"repeat\":" + std::to_string(repeat->count) + ",\"steps\":[" +
              toText(plan, i + 1, end, indent + " ") + "]}";
      i = end - 1;
    } else if (const auto *launch = std::get_if<Launch>(&step)) {
      text += dump(toJson(*launch));
    } else {
      text += dump(toJson(std::get<Memset>(step)));
    }
  }
  return text;
}

std::string fastk::worker::toJSON(const LaunchPlan &plan) {
  std::string text = "{\"format\": 1";
  auto list = [&](const char *key, const auto &entries, auto toEntry) {
    if (entries.empty())
      return;
    text += std::string(",\n \"") + key + "\": [";
    const char *separator = "\n  ";
    for (const auto &entry : entries) {
      text += separator + dump(toEntry(entry));
      separator = ",\n  ";
    }
    text += "]";
  };
  list("workspaces", plan.workspaces, [](const Workspace &workspace) {
    Json json;
    json["bytes"] = workspace.bytes;
    if (workspace.zero)
      json["zero"] = true;
    return json;
  });
  list("tensor_maps", plan.tensorMaps,
       [](const TensorMap &map) { return toJson(map); });
  if (!plan.steps.empty())
    text += ",\n \"steps\": [" + toText(plan, 0, plan.steps.size(), "  ") + "]";
  return text + "}\n";
}
