//===- Job.cpp - What the worker is asked to evaluate ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/Job.h"
#include "fastk/Protocol/JSONReader.h"
#include "fastk/Protocol/Names.h"
#include <utility>

using namespace fastk::worker;

static constexpr Name<Mode> modeNames[] = {{Mode::Evaluate, "evaluate"},
                                           {Mode::Validate, "validate"},
                                           {Mode::Promote, "promote"},
                                           {Mode::Compare, "compare"}};
static constexpr Name<Kind> kindNames[] = {{Kind::Contraction, "contraction"},
                                           {Kind::Convolution, "convolution"},
                                           {Kind::Softmax, "softmax"},
                                           {Kind::Norm, "norm"},
                                           {Kind::Attention, "attention"},
                                           {Kind::Reduction, "reduction"},
                                           {Kind::Elementwise, "elementwise"},
                                           {Kind::Pooling, "pooling"},
                                           {Kind::Other, "other"}};
static constexpr Name<Precision> precisionNames[] = {{Precision::IEEE, "ieee"},
                                                     {Precision::TF32, "tf32"},
                                                     {Precision::Half, "half"},
                                                     {Precision::None, "none"}};
static constexpr Name<Role> roleNames[] = {
    {Role::Data, "data"},         {Role::Weight, "weight"},
    {Role::Scale, "scale"},       {Role::Bias, "bias"},
    {Role::Positive, "positive"}, {Role::Divisor, "divisor"},
    {Role::Index, "index"},       {Role::Mask, "mask"}};
static constexpr Name<Cache> cacheNames[] = {{Cache::Cold, "cold"},
                                             {Cache::Warm, "warm"}};

static constexpr Name<DeviceKind> deviceNames[] = {{DeviceKind::Host, "host"},
                                                   {DeviceKind::Cuda, "cuda"}};
static constexpr Name<Code> codeNames[] = {{Code::SharedObject, "so"},
                                           {Code::PTX, "ptx"},
                                           {Code::Cubin, "cubin"},
                                           {Code::CUDA, "cuda"}};

using When = SanitizerOptions::When;
static constexpr Name<When> whenNames[] = {{When::Installed, "installed"},
                                           {When::Required, "required"},
                                           {When::Never, "never"}};

static std::optional<When> parseWhen(std::string_view text) {
  return valueOf(whenNames, text);
}
using ProfileWhen = ProfileOptions::When;
static constexpr Name<ProfileWhen> profileNames[] = {
    {ProfileWhen::Never, "never"}, {ProfileWhen::Installed, "installed"}};

static std::optional<ProfileWhen> parseProfileWhen(std::string_view text) {
  return valueOf(profileNames, text);
}
static std::optional<DeviceKind> parseDevice(std::string_view text) {
  return valueOf(deviceNames, text);
}
static std::optional<Code> parseCode(std::string_view text) {
  return valueOf(codeNames, text);
}

std::string_view fastk::worker::toString(Mode m) {
  return nameOf(modeNames, m);
}
std::string_view fastk::worker::toString(Kind k) {
  return nameOf(kindNames, k);
}
std::string_view fastk::worker::toString(Precision p) {
  return nameOf(precisionNames, p);
}
static constexpr Name<NonFinite> nonFiniteNames[] = {
    {NonFinite::Exact, "exact"},
    {NonFinite::Any, "any"},
    {NonFinite::Free, "free"}};

std::string_view fastk::worker::toString(NonFinite rule) {
  return nameOf(nonFiniteNames, rule);
}
std::optional<NonFinite> fastk::worker::parseNonFinite(std::string_view text) {
  return valueOf(nonFiniteNames, text);
}
std::string_view fastk::worker::toString(Role r) {
  return nameOf(roleNames, r);
}
std::string_view fastk::worker::toString(Cache c) {
  return nameOf(cacheNames, c);
}
std::optional<Mode> fastk::worker::parseMode(std::string_view t) {
  return valueOf(modeNames, t);
}
std::optional<Kind> fastk::worker::parseKind(std::string_view t) {
  return valueOf(kindNames, t);
}
std::optional<Precision> fastk::worker::parsePrecision(std::string_view t) {
  return valueOf(precisionNames, t);
}
std::optional<Role> fastk::worker::parseRole(std::string_view t) {
  return valueOf(roleNames, t);
}
std::optional<Cache> fastk::worker::parseCache(std::string_view t) {
  return valueOf(cacheNames, t);
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t Tensor::bytes() const { return elements() * byteSize(type); }

int64_t Tensor::rowLength() const { return shape.empty() ? 1 : shape.back(); }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The kernel is called through a table of function types of bounded arity.
static constexpr size_t maxTensors = 30;
static constexpr int64_t maxBytes = int64_t(1) << 46;
/// Numbers that every reader of JSON keeps whole.
static constexpr int64_t mostSeed = (int64_t(1) << 53) - 1;

static Tensor readTensor(const Json &value, std::string path, bool isInput,
                         std::string &error) {
  Tensor tensor;
  ObjectReader reader(value, path, error);
  // Judges have no more types than these.
  auto parse = [](std::string_view text) {
    auto type = parseElementType(text);
    return type == ElementType::I16 ? std::nullopt : type;
  };
  reader.readEnum("type", tensor.type, parse,
                  "f64, f32, f16, bf16, i64, i32, i8, i1");
  int64_t elements = 1;
  reader.readArray("shape", [&](const Json &extent, const std::string &where) {
    const auto *number = extent.get_ptr<const uint64_t *>();
    if (!number || *number == 0 || *number > uint64_t(maxElements)) {
      error = where + ": is " +
              extent.dump(-1, ' ', false, Json::error_handler_t::replace)
                  .substr(0, 40) +
              "; write a static extent from 1 up (a tensor without elements "
              "needs no kernel)";
      return;
    }
    if (elements > maxElements / int64_t(*number)) {
      error = path + ".shape: more than 2^40 elements; no machine holds them, "
                     "split the workload";
      return;
    }
    elements *= int64_t(*number);
    tensor.shape.push_back(int64_t(*number));
  });
  if (isInput) {
    reader.readEnum("distribution", tensor.role, parseRole,
                    "data, weight, scale, bias, positive, divisor, index, mask",
                    true);
    double bounds[2] = {0, 0};
    size_t count = 0;
    bool present = reader.readArray(
        "range",
        [&](const Json &bound, const std::string &where) {
          if (!bound.is_number()) {
            error = where + ": is " + bound.type_name() + "; write a number";
            return;
          }
          if (count < 2)
            bounds[count] = bound.get<double>();
          ++count;
        },
        true);
    if (present) {
      if (count != 2 || !(bounds[0] <= bounds[1]))
        reader.fail("range", "write [low, high] with low <= high");
      else if (isFloat(tensor.type) && !(bounds[0] < bounds[1]))
        reader.fail("range", "is a single value; widen it, or make the operand "
                             "a constant of the program");
      tensor.range = {bounds[0], bounds[1]};
    }
    int64_t special = 0;
    constexpr int64_t exactInDouble = int64_t(1) << 53;
    if (reader.readInt("special", special, -exactInDouble, exactInDouble,
                       true)) {
      tensor.special = special;
      if (isFloat(tensor.type) || tensor.type == ElementType::I1)
        reader.fail("special", "is for integers; leave it out");
    }
    if (reader.ok() && tensor.role == Role::Index) {
      if (isFloat(tensor.type))
        reader.fail("distribution",
                    "is 'index' for a float operand; indices are integers");
      else if (!present)
        reader.fail("range", "is missing; an index operand needs the legal "
                             "[low, high]");
    }
    if (reader.ok() && !isFloat(tensor.type) &&
        (tensor.role == Role::Scale || tensor.role == Role::Positive ||
         tensor.role == Role::Divisor) &&
        tensor.type == ElementType::I1)
      reader.fail("distribution", "does not fit i1; use mask");
  }
  reader.finish();
  return tensor;
}

static Program readProgram(const Json &value, std::string path,
                           std::string &error) {
  Program program;
  ObjectReader reader(value, std::move(path), error);
  reader.readString("path", program.path);
  if (reader.ok() &&
      (program.path.empty() || program.path.find('\0') != std::string::npos))
    reader.fail("path", "is empty or has a NUL; name a shared object");
  reader.readInt("workspace_bytes", program.workspaceBytes, 0, maxBytes, true);
  reader.readEnum("code", program.code, parseCode, "so, ptx, cubin, cuda",
                  true);
  reader.readObject(
      "plan",
      [&](const Json &plan, const std::string &where) {
        std::string problem;
        program.plan = parseLaunchPlan(
            plan.dump(-1, ' ', false, Json::error_handler_t::replace), problem);
        if (!program.plan)
          error = where + ": " + problem;
      },
      true);
  if (reader.ok() && (program.code == Code::SharedObject) == bool(program.plan))
    reader.fail("plan", program.plan
                            ? "is for device code; a shared object has none"
                            : "is missing; device code needs the plan that "
                              "launches it, see docs/formats/plan.md");
  reader.finish();
  return program;
}

static void readTensors(ObjectReader &reader, Job &job, std::string &error) {
  reader.readArray("inputs", [&](const Json &value, std::string path) {
    job.inputs.push_back(readTensor(value, std::move(path), true, error));
  });
  reader.readArray("outputs", [&](const Json &value, std::string path) {
    job.outputs.push_back(readTensor(value, std::move(path), false, error));
  });
  if (reader.ok() && job.outputs.empty())
    reader.fail("outputs", "is empty; a workload has at least one result");
  if (reader.ok() && job.inputs.size() + job.outputs.size() > maxTensors)
    reader.fail("outputs", "inputs and outputs are more than " +
                               std::to_string(maxTensors) +
                               " together; form smaller workloads");
}

/// The programs, which are for the job's device, and a comparison's seed.
static void readPrograms(ObjectReader &reader, Job &job, std::string &error) {
  const bool compares = job.mode == Mode::Compare;
  reader.readObject("programs", [&](const Json &value, std::string path) {
    ObjectReader programs(value, std::move(path), error);
    auto into = [&](Program &program) {
      return [&](const Json &value, std::string path) {
        program = readProgram(value, std::move(path), error);
      };
    };
    auto readOptional = [&](const char *name, std::optional<Program> &program) {
      programs.readObject(
          name,
          [&](const Json &value, std::string path) {
            program = readProgram(value, std::move(path), error);
          },
          true);
    };
    programs.readObject("oracle", into(job.oracle));
    if (compares) {
      programs.readObject("host_oracle", into(job.hostOracle.emplace()));
      readOptional("host_condition", job.hostCondition);
    } else {
      readOptional("condition", job.condition);
      programs.readObject("baseline", into(job.baseline));
      readOptional("incumbent", job.incumbent);
      programs.readObject("candidate", into(job.candidate));
    }
    programs.finish();
  });
  auto fits = [&](const Program &program) {
    return (program.code == Code::SharedObject) ==
           (job.device == DeviceKind::Host);
  };
  bool allFit = fits(job.oracle) &&
                (compares || (fits(job.baseline) && fits(job.candidate))) &&
                (!job.incumbent || fits(*job.incumbent)) &&
                (!job.condition || fits(*job.condition));
  for (const std::optional<Program> *program :
       {&job.hostOracle, &job.hostCondition})
    if (reader.ok() && *program && (*program)->code != Code::SharedObject)
      reader.fail("programs", "has device code for the host; 'host_oracle' and "
                              "'host_condition' are shared objects");
  int64_t seed = 0;
  if (compares && reader.readInt("seed", seed, 0, mostSeed, true))
    job.seed = seed;
  if (reader.ok() && !allFit)
    reader.fail("programs",
                job.device == DeviceKind::Host
                    ? "has device code, but the job is for the host; write "
                      "\"device\": \"cuda\", or name shared objects"
                    : "has a shared object, but the job is for a GPU; give "
                      "every program a code of ptx, cubin or cuda and a plan");
}

/// How the candidate is judged and timed.
static void readJudging(ObjectReader &reader, Job &job, std::string &error) {
  reader.readObject(
      "validate",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readInt("trials", job.validate.trials, 1, 1000, true);
        options.readBool("competitors", job.validate.competitors, true);
        options.readBool("full", job.validate.full, true);
        options.readBool("require_deterministic",
                         job.validate.requireDeterministic, true);
        options.finish();
      },
      true);
  reader.readObject(
      "time",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readInt("threads", job.time.threads, 0, 1024, true);
        options.readInt("min_samples", job.time.minSamples, 3, 100000, true);
        options.readDouble("max_seconds", job.time.maxSeconds, 0.01, 86400,
                           true);
        options.readDouble("screen_ratio", job.time.screenRatio, 0, 1e6, true);
        options.readEnum("cache", job.time.cache, parseCache, "cold, warm",
                         true);
        options.finish();
      },
      true);
}

/// What looks at it beside, and how much of the machine it may have.
static void readTools(ObjectReader &reader, Job &job, std::string &error) {
  reader.readObject(
      "sanitizer",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readEnum("when", job.sanitizer.when, parseWhen,
                         "installed, required, never", true);
        options.readDouble("seconds", job.sanitizer.seconds, 1, 86400, true);
        options.finish();
      },
      true);
  reader.readObject(
      "delays",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readEnum("when", job.delays.when, parseWhen,
                         "installed, required, never", true);
        options.readDouble("seconds", job.delays.seconds, 0.1, 86400, true);
        options.readInt("schedules", job.delays.schedules, 1, 1000000, true);
        options.readBool("rules", job.delays.rules, true);
        options.finish();
      },
      true);
  reader.readObject(
      "profile",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readEnum("when", job.profile.when, parseProfileWhen,
                         "never, installed", true);
        options.readDouble("seconds", job.profile.seconds, 1, 86400, true);
        options.finish();
      },
      true);
  reader.readObject(
      "limits",
      [&](const Json &value, std::string path) {
        ObjectReader options(value, std::move(path), error);
        options.readDouble("wall_seconds", job.limits.wallSeconds, 0, 86400,
                           true);
        options.readInt("memory_bytes", job.limits.memoryBytes,
                        int64_t(16) << 20, maxBytes, true);
        options.readInt("threads", job.limits.threads, 0, 65536, true);
        options.readInt("file_bytes", job.limits.fileBytes, 0, maxBytes, true);
        options.finish();
      },
      true);
}

std::optional<Job> fastk::worker::parseJob(std::string_view text,
                                           std::string &error) {
  std::optional<Json> document = parseDocument(text, "job", error);
  if (!document)
    return std::nullopt;
  Job job;
  ObjectReader reader(*document, "$", error);
  int64_t format = 0;
  reader.readInt("format", format, 0, INT64_MAX);
  if (reader.ok() && format != jobFormat)
    reader.fail("format", "is " + std::to_string(format) +
                              "; this worker reads format 1, use the worker "
                              "that belongs to the sender");
  reader.readString("id", job.id);
  reader.readEnum("device", job.device, parseDevice, "host, cuda", true);
  reader.readEnum("mode", job.mode, parseMode,
                  "evaluate, validate, promote, compare");
  if (job.mode == Mode::Promote) {
    job.validate.trials = 10;
    job.time.maxSeconds = 5;
  }
  readTensors(reader, job, error);
  readPrograms(reader, job, error);
  reader.readString("machine", job.machine, true);
  reader.readEnum("kind", job.kind, parseKind,
                  "contraction, convolution, softmax, norm, attention, "
                  "reduction, elementwise, pooling, other");
  reader.readEnum("non_finite", job.nonFinite, parseNonFinite,
                  "exact, any, free", true);
  reader.readInt("reduction_length", job.reductionLength, 1, maxElements, true);
  reader.readEnum("accepted_precision", job.acceptedPrecision, parsePrecision,
                  "ieee, tf32, half", true);
  if (reader.ok() && job.acceptedPrecision == Precision::None)
    reader.fail("accepted_precision",
                "is 'none'; write one of ieee, tf32, half");
  reader.readBool("condition_of_tf32", job.conditionOfTF32, true);
  if (reader.ok() && job.conditionOfTF32 &&
      (!job.condition || job.acceptedPrecision == Precision::IEEE))
    reader.fail("condition_of_tf32",
                "is for a job that has a program of conditions and accepts "
                "tf32 or half");
  readJudging(reader, job, error);
  reader.readDouble("floor_ns", job.floorNs, 0, 1e18, true);
  readTools(reader, job, error);
  if (!reader.finish())
    return std::nullopt;
  return job;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json toJson(const Tensor &tensor, bool isInput) {
  Json json = {{"type", toString(tensor.type)}, {"shape", tensor.shape}};
  if (tensor.shape.empty())
    json["shape"] = Json::array();
  if (!isInput)
    return json;
  json["distribution"] = toString(tensor.role);
  if (tensor.range) {
    // Integers stay integers in the text.
    Json bounds = Json::array();
    for (double bound : {tensor.range->first, tensor.range->second})
      if (!isFloat(tensor.type) && bound > -0x1p53 && bound < 0x1p53)
        bounds.push_back(int64_t(bound));
      else
        bounds.push_back(bound);
    json["range"] = bounds;
  }
  if (tensor.special)
    json["special"] = *tensor.special;
  return json;
}

static Json toJson(const Program &program) {
  Json json = {{"path", program.path},
               {"workspace_bytes", program.workspaceBytes}};
  if (program.code == Code::SharedObject)
    return json;
  json["code"] = nameOf(codeNames, program.code);
  if (program.plan)
    json["plan"] = Json::parse(toJSON(*program.plan));
  return json;
}

std::string fastk::worker::toJSON(const Job &job) {
  Json json;
  json["format"] = jobFormat;
  json["id"] = job.id;
  if (job.device != DeviceKind::Host)
    json["device"] = nameOf(deviceNames, job.device);
  if (!job.machine.empty())
    json["machine"] = job.machine;
  json["mode"] = toString(job.mode);
  json["inputs"] = Json::array();
  for (const Tensor &tensor : job.inputs)
    json["inputs"].push_back(toJson(tensor, true));
  json["outputs"] = Json::array();
  for (const Tensor &tensor : job.outputs)
    json["outputs"].push_back(toJson(tensor, false));
  Json programs;
  programs["oracle"] = toJson(job.oracle);
  if (job.condition)
    programs["condition"] = toJson(*job.condition);
  if (job.mode == Mode::Compare) {
    if (job.hostOracle)
      programs["host_oracle"] = toJson(*job.hostOracle);
    if (job.hostCondition)
      programs["host_condition"] = toJson(*job.hostCondition);
    if (job.seed)
      json["seed"] = *job.seed;
  } else {
    programs["baseline"] = toJson(job.baseline);
    if (job.incumbent)
      programs["incumbent"] = toJson(*job.incumbent);
    programs["candidate"] = toJson(job.candidate);
  }
  json["programs"] = programs;
  json["kind"] = toString(job.kind);
  if (job.nonFinite != NonFinite::Exact)
    json["non_finite"] = toString(job.nonFinite);
  json["reduction_length"] = job.reductionLength;
  json["accepted_precision"] = toString(job.acceptedPrecision);
  if (job.conditionOfTF32)
    json["condition_of_tf32"] = true;
  json["validate"] = {{"trials", job.validate.trials},
                      {"competitors", job.validate.competitors}};
  if (job.validate.full)
    json["validate"]["full"] = true;
  if (job.validate.requireDeterministic)
    json["validate"]["require_deterministic"] = true;
  json["time"] = {{"threads", job.time.threads},
                  {"min_samples", job.time.minSamples},
                  {"max_seconds", job.time.maxSeconds},
                  {"screen_ratio", job.time.screenRatio},
                  {"cache", toString(job.time.cache)}};
  json["floor_ns"] = number(job.floorNs);
  if (job.device == DeviceKind::Cuda) {
    json["sanitizer"] = {{"when", nameOf(whenNames, job.sanitizer.when)},
                         {"seconds", number(job.sanitizer.seconds)}};
    json["delays"] = {{"when", nameOf(whenNames, job.delays.when)},
                      {"seconds", number(job.delays.seconds)},
                      {"schedules", job.delays.schedules},
                      {"rules", job.delays.rules}};
  }
  if (job.profile.when != ProfileWhen::Never)
    json["profile"] = {{"when", nameOf(profileNames, job.profile.when)},
                       {"seconds", number(job.profile.seconds)}};
  json["limits"] = {{"wall_seconds", job.limits.wallSeconds},
                    {"memory_bytes", job.limits.memoryBytes},
                    {"threads", job.limits.threads},
                    {"file_bytes", job.limits.fileBytes}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
