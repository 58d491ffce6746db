//===- Validate.cpp - Is the candidate right ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Competitors.h"
#include "../Parallel.h"
#include "../Random.h"
#include "../Statistics.h"
#include "Session.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace fastk::worker;

namespace {

class Validation {
public:
  Validation(Session &session, Failure &failure)
      : session(session), job(session.job), verdict(session.verdict),
        failure(failure), competitors(job) {}

  bool run(std::vector<Difficulty> &normalDifficulty);

private:
  enum class Outcome { Ready, LeftOut, Failed };

  bool create();
  bool callTrusted(Child &child, const InputSet &operands, OutputSet &outputs,
                   const char *name, double *ns = nullptr);
  bool callCandidate(const std::string &what);
  Outcome prepare(Case &trial, std::vector<Difficulty> &difficulties,
                  std::string &why);
  bool measureSlope(const Case &trial, std::vector<Difficulty> &difficulties);
  bool judgeTrial(const Case &trial, std::vector<Difficulty> &difficulties,
                  bool slopeKnown);
  bool screen();
  bool checkOperands(const Case &trial,
                     const std::vector<Difficulty> &difficulties);
  bool checkHalfInputs(const Case &trial,
                       const std::vector<Difficulty> &difficulties);
  bool checkRepeats(const Case &trial,
                    const std::vector<Difficulty> &difficulties);
  bool wrong(std::string reason) {
    failure = {Status::Wrong, std::move(reason)};
    return false;
  }
  /// An oracle or baseline that fails is no fault of the candidate.
  bool blame(const char *name) {
    failure = {Status::Error,
               failure.reason + " (the " + name + " must run on every trial)"};
    return false;
  }

  Session &session;
  const Job &job;
  Verdict &verdict;
  Failure &failure;
  Competitors competitors;
  std::unique_ptr<Child> oracle, baseline, candidate;
  InputSet inputs;
  OutputSet oracleOutputs, otherOracle, baselineOutputs, candidateOutputs;
  Placement placement = Placement::End;
  double baselineSeconds = 0;
  /// The trial's operands, slightly moved; made when first needed.
  InputSet moved;
};

} // namespace

bool Validation::create() {
  return session.createInputs(inputs, failure) &&
         session.createOutputs(oracleOutputs, job.oracle, true, failure) &&
         session.createOutputs(otherOracle, job.oracle, true, failure) &&
         session.createOutputs(baselineOutputs, job.baseline, false, failure) &&
         session.createOutputs(candidateOutputs, job.candidate, false, failure);
}

/// Runs the oracle or the baseline.
bool Validation::callTrusted(Child &child, const InputSet &operands,
                             OutputSet &outputs, const char *name, double *ns) {
  CallTime time;
  Session::place(outputs, placement);
  Session::poison(outputs);
  // Trusted programs get the time that the machine needs.
  constexpr double seconds = 600;
  if (!child.map(0, Session::buffersOf(operands, outputs), failure) ||
      !child.call(0, seconds, time, failure) || !child.unmap(0, failure))
    return blame(name);
  std::string damage = session.damage(operands, outputs);
  if (!damage.empty()) {
    failure = {Status::Error, std::string("the ") + name + " " + damage};
    return false;
  }
  if (ns)
    *ns = time.ns;
  return true;
}

bool Validation::callCandidate(const std::string &what) {
  CallTime time;
  Session::place(candidateOutputs, placement);
  Session::poison(candidateOutputs);
  double seconds = job.limits.wallSeconds > 0
                       ? job.limits.wallSeconds
                       : std::max(10.0, 20 * baselineSeconds);
  session.wallSeconds = seconds;
  if (!candidate->map(0, Session::buffersOf(inputs, candidateOutputs),
                      failure) ||
      !candidate->call(0, seconds, time, failure) ||
      !candidate->unmap(0, failure)) {
    failure.reason += " (" + what + ")";
    return false;
  }
  std::string damage = session.damage(inputs, candidateOutputs);
  if (!damage.empty())
    return wrong("the candidate " + damage + " (" + what + ")");
  return true;
}

/// The oracle's and the baseline's results on one trial.
Validation::Outcome Validation::prepare(Case &trial,
                                        std::vector<Difficulty> &difficulties,
                                        std::string &why) {
  // An op may overflow its type on large values: then smaller ones.
  for (double scale : {1.0, 0.125, 1.0 / 64, 1.0 / 512}) {
    trial.scale = scale;
    session.fill(inputs, trial, placement);
    if (!callTrusted(*oracle, inputs, oracleOutputs, "oracle"))
      return Outcome::Failed;
    bool legal = true;
    for (size_t o = 0; o < job.outputs.size() && legal; ++o)
      if (isFloat(job.outputs[o].type) &&
          !fits(job.outputs[o],
                readerOf(ElementType::F64, oracleOutputs.buffers[o].data()))) {
        legal = false;
        why = "its exact result does not fit into the output's type";
      }
    if (!legal)
      continue;
    double ns = 0;
    if (!callTrusted(*baseline, inputs, baselineOutputs, "baseline", &ns))
      return Outcome::Failed;
    baselineSeconds = std::max(baselineSeconds, ns * 1e-9);
    difficulties.assign(job.outputs.size(), Difficulty());
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      Measure m = session.measureOutput(o, baselineOutputs, oracleOutputs);
      difficulties[o].baseline = m;
      difficulties[o].carriers = m.carriers;
      difficulties[o].coherent = isCoherent(trial.law);
      difficulties[o].rangeOnly = testsRange(trial.law);
      difficulties[o].exceedsHalf = exceedsHalf(job, trial.law);
      difficulties[o].exact =
          isExact(trial.law, job.kind) && m.max == 0 && m.mismatches == 0;
      if (m.mismatches) {
        legal = false;
        why = "the baseline differs from the oracle in " +
              std::to_string(m.mismatches) +
              (isFloat(job.outputs[o].type) ? " NaN or infinite elements"
                                            : " elements");
      }
    }
    if (!legal)
      continue;
    return Outcome::Ready;
  }
  return Outcome::LeftOut;
}

/// How strongly the op answers to small changes of its inputs. An error of the
/// same relative size in the arithmetic is amplified alike, whoever makes it.
bool Validation::measureSlope(const Case &trial,
                              std::vector<Difficulty> &difficulties) {
  if (sitsOnBreakpoints(trial.law))
    return true;
  double coarsest = 0;
  for (const Tensor &input : job.inputs)
    coarsest = std::max(coarsest, unitRoundoff(input.type));
  if (coarsest == 0)
    return true;
  // Several units, so that rounding to the operand's type moves all alike.
  double delta = 4 * coarsest;
  double carriers = 1e300;
  for (size_t o = 0; o < job.outputs.size(); ++o)
    if (isFloat(job.outputs[o].type))
      carriers = std::min(carriers, difficulties[o].carriers);
  // One random direction says little about a few elements: try several, and
  // count the worst.
  uint64_t draws = carriers < 16 ? 8 : carriers < 256 ? 3 : 1;
  if (moved.buffers.empty() && !session.createInputs(moved, failure))
    return false;
  for (uint64_t draw = 0; draw < draws; ++draw) {
    for (size_t i = 0; i < job.inputs.size(); ++i) {
      moved.buffers[i].place(placement);
      moved.buffers[i].setCanaries();
      perturb(job.inputs[i], bitsAt(trial.seed, 500 + i + 1000 * draw), delta,
              inputs.buffers[i].data(), moved.buffers[i].data());
    }
    session.rehash(moved);
    if (!callTrusted(*oracle, moved, otherOracle, "oracle"))
      return false;
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      if (!isFloat(job.outputs[o].type))
        continue;
      Measure m =
          measure(job.outputs[o],
                  readerOf(ElementType::F64, otherOracle.buffers[o].data()),
                  readerOf(ElementType::F64, oracleOutputs.buffers[o].data()));
      // Infinities that come or go count as no change.
      auto slope = [&](double change) {
        return std::isfinite(change) ? change / delta : 1 / delta;
      };
      Difficulty &d = difficulties[o];
      d.slopeMax = std::max(d.slopeMax, slope(m.max));
      d.slopeFrobenius = std::max(d.slopeFrobenius, slope(m.frobenius));
    }
  }
  return true;
}

static std::string nameOf(const Case &trial) {
  return std::string(toString(trial.law)) + ", trial " +
         std::to_string(trial.trial);
}

static std::string describe(const TrialError &e, Precision accepted) {
  char text[300];
  if (e.nanMismatch)
    snprintf(text, sizeof(text),
             "result %lld has %lld elements that are NaN, infinite or "
             "different where the oracle's are not",
             (long long)e.output, (long long)e.nanMismatch);
  else
    snprintf(text, sizeof(text),
             "result %lld: largest error %.3g (bound %.3g), Frobenius %.3g "
             "(bound %.3g) for class %s; the baseline has %.3g and %.3g",
             (long long)e.output, e.maxNormalized, e.bound, e.relativeFrobenius,
             e.boundFrobenius, std::string(toString(accepted)).c_str(),
             e.referenceMax, e.referenceFrobenius);
  return text;
}

/// Without the slope the bounds are tighter: what is IEEE then is IEEE anyway,
/// and the oracle need not run a second time. Else the slope is measured now.
bool Validation::judgeTrial(const Case &trial,
                            std::vector<Difficulty> &difficulties,
                            bool slopeKnown) {
  if (!callCandidate("on " + nameOf(trial)))
    return false;
  TrialError error;
  error.distribution = toString(trial.law);
  error.trial = trial.trial;
  Precision got = judgeOutputs(session, candidateOutputs, oracleOutputs,
                               difficulties, error);
  if (got != Precision::IEEE && !slopeKnown) {
    if (!measureSlope(trial, difficulties))
      return false;
    got = judgeOutputs(session, candidateOutputs, oracleOutputs, difficulties,
                       error);
  }
  verdict.errors.push_back(error);
  verdict.precision = looser(verdict.precision, got);
  if (got > job.acceptedPrecision)
    return wrong("the candidate holds only class " +
                 std::string(toString(got)) + " on " + nameOf(trial) + ": " +
                 describe(error, job.acceptedPrecision));
  return true;
}

/// Every operand must matter to the oracle; and the candidate must follow when
/// one operand alone changes.
bool Validation::checkOperands(const Case &trial,
                               const std::vector<Difficulty> &difficulties) {
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    Case other = trial;
    other.seed = bitsAt(trial.seed, 9000 + i);
    fillInput(job, i, other, inputs.buffers[i].data());
    session.rehash(inputs);
    if (!callTrusted(*oracle, inputs, otherOracle, "oracle"))
      return false;
    bool reacts = false;
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      const Tensor &tensor = job.outputs[o];
      const void *now = otherOracle.buffers[o].data();
      const void *before = oracleOutputs.buffers[o].data();
      if (!isFloat(tensor.type)) {
        reacts |= compareExact(tensor, now, before).mismatches > 0;
        continue;
      }
      Measure m = measure(tensor, readerOf(ElementType::F64, now),
                          readerOf(ElementType::F64, before));
      Bounds accepted =
          boundsOf(job, o, job.acceptedPrecision, difficulties[o]);
      reacts |= m.mismatches > 0 || m.max > accepted.max;
    }
    if (!reacts) {
      failure = {Status::Unfit,
                 "operand " + std::to_string(i) +
                     " has no effect on the oracle's results: a kernel that "
                     "ignores it would pass; give it another distribution or "
                     "range, or take it out of the workload"};
      return false;
    }
    if (!callCandidate("with operand " + std::to_string(i) + " redrawn"))
      return false;
    TrialError error;
    error.distribution = "redrawn";
    error.trial = int64_t(i);
    Precision got = judgeOutputs(session, candidateOutputs, otherOracle,
                                 difficulties, error);
    if (got > job.acceptedPrecision) {
      verdict.errors.push_back(error);
      return wrong(
          "the candidate does not follow when operand " + std::to_string(i) +
          " alone is redrawn: " + describe(error, job.acceptedPrecision));
    }
    // Back to the trial's own values.
    fillInput(job, i, trial, inputs.buffers[i].data());
    session.rehash(inputs);
  }
  return true;
}

/// What a kernel that rounds its operands to FP16 would return must not count
/// as IEEE.
bool Validation::checkHalfInputs(const Case &trial,
                                 const std::vector<Difficulty> &difficulties) {
  bool any = false;
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    const Tensor &tensor = job.inputs[i];
    if (tensor.type != ElementType::F32 && tensor.type != ElementType::F64)
      continue;
    any = true;
    char *data = inputs.buffers[i].data();
    parallelFor(
        tensor.elements(), 64, [&](int64_t, int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k)
            storeElement(
                tensor.type, data, k,
                fromHalfBits(toHalfBits(loadElement(tensor.type, data, k))));
        });
  }
  if (!any)
    return true;
  session.rehash(inputs);
  if (!callTrusted(*oracle, inputs, otherOracle, "oracle"))
    return false;
  bool rejected = false;
  double largest = 0;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    const Tensor &tensor = job.outputs[o];
    // Coarser outputs hide it, and rightly so.
    if (tensor.type != ElementType::F32 && tensor.type != ElementType::F64) {
      rejected = true;
      continue;
    }
    Measure m = measure(
        tensor, readerOf(ElementType::F64, otherOracle.buffers[o].data()),
        readerOf(ElementType::F64, oracleOutputs.buffers[o].data()));
    largest = std::max(largest, m.max);
    rejected |= classify(job, o, m, difficulties[o]) != Precision::IEEE;
  }
  char text[120];
  snprintf(text, sizeof(text), "%s as ieee on %s: largest error %.3g",
           rejected ? "rejected" : "accepted", nameOf(trial).c_str(), largest);
  competitors.record({"operands rounded to f16", rejected, text});
  session.fill(inputs, trial, placement);
  return true;
}

/// Repeated runs on one input: the same bits, or at least always in bounds.
bool Validation::checkRepeats(const Case &trial,
                              const std::vector<Difficulty> &difficulties) {
  constexpr int repeats = 20;
  std::vector<std::string> first;
  bool same = true;
  uint64_t begin = clockNs();
  for (int k = 0; k < repeats; ++k) {
    if (!callCandidate("in repeated run " + std::to_string(k)))
      return false;
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      const SharedBuffer &buffer = candidateOutputs.buffers[o];
      if (k == 0)
        first.emplace_back(buffer.data(), buffer.size());
      else
        same &= std::memcmp(first[o].data(), buffer.data(), buffer.size()) == 0;
    }
    TrialError error;
    error.distribution = "repeated";
    error.trial = k;
    Precision got = judgeOutputs(session, candidateOutputs, oracleOutputs,
                                 difficulties, error);
    if (got > job.acceptedPrecision) {
      verdict.errors.push_back(error);
      return wrong("the candidate fails in run " + std::to_string(k) +
                   " on one and the same input: " +
                   describe(error, job.acceptedPrecision));
    }
    if (k >= 4 && clockNs() - begin > 20'000'000'000u)
      break;
  }
  verdict.audit.bitwiseDeterministic = same;
  return true;
}

/// After one right trial, before more is spent: is the candidate surely much
/// slower than its rival. Pairs of calls on the trial's inputs; whoever keeps
/// results between calls looks fast here, and goes on to be timed in earnest.
bool Validation::screen() {
  constexpr int fewestPairs = 3;
  const Program &program = job.incumbent ? *job.incumbent : job.baseline;
  const char *name = job.incumbent ? "incumbent" : "baseline";
  std::unique_ptr<Child> incumbent;
  OutputSet own;
  if (job.incumbent) {
    incumbent = session.start(name, &session.incumbent, &program, 2, failure);
    if (!incumbent)
      return blame(name);
    if (!session.createOutputs(own, program, false, failure))
      return false;
  }
  Child &rival = incumbent ? *incumbent : *baseline;
  OutputSet &rivalOutputs = incumbent ? own : baselineOutputs;
  bool flush = session.mustFlush();

  // The candidate's result of the trial has been judged, the baseline's is in
  // the difficulties: both may be overwritten.
  auto call = [&](Child &child, OutputSet &outputs, double seconds,
                  double &ns) {
    Session::poison(outputs);
    if (flush)
      for (const SharedBuffer *buffer : Session::buffersOf(inputs, outputs))
        buffer->flush();
    CallTime time;
    if (!child.call(0, seconds, time, failure))
      return false;
    ns = time.ns;
    return true;
  };
  Session::place(rivalOutputs, placement);
  constexpr double trusted = 600;
  double ns = 0;
  std::vector<double> mine, theirs;
  if (!rival.map(0, Session::buffersOf(inputs, rivalOutputs), failure) ||
      !call(rival, rivalOutputs, trusted, ns))
    return blame(name);
  if (!candidate->map(0, Session::buffersOf(inputs, candidateOutputs),
                      failure) ||
      !call(*candidate, candidateOutputs, session.wallSeconds, ns))
    return false;
  double spentNs = 0;
  int pairs = 0;
  for (; pairs < fewestPairs || !outlastsDisturbance(spentNs, pairs); ++pairs) {
    if (!call(rival, rivalOutputs, trusted, ns))
      return blame(name);
    theirs.push_back(ns);
    if (!call(*candidate, candidateOutputs, session.wallSeconds, ns))
      return false;
    mine.push_back(ns);
    spentNs += ns;
  }
  std::string damage = session.damage(inputs, candidateOutputs);
  if (!damage.empty())
    return wrong("the candidate " + damage + " (when screened)");
  if (!candidate->unmap(0, failure))
    return false;
  if (!rival.unmap(0, failure))
    return blame(name);
  if (incumbent)
    session.account(*incumbent);

  // With three pairs the interval is their range: all must say so.
  Ratio ratio = pairedRatio(theirs, mine, secretSeed());
  if (ratio.high * job.time.screenRatio >= 1)
    return true;
  TimingReport &timing = verdict.timing;
  timing.candidate = summarize(mine);
  (job.incumbent ? timing.incumbent : timing.baseline) = summarize(theirs);
  (job.incumbent ? timing.speedupOverIncumbent : timing.speedupOverBaseline) =
      ratio;
  char text[240];
  snprintf(text, sizeof(text),
           "dropped after one trial and %d samples: %.4g us, more than %.3g "
           "times the %s's %.4g us",
           pairs, timing.candidate->medianNs * 1e-3, job.time.screenRatio, name,
           quantile(theirs, 0.5) * 1e-3);
  failure = {Status::Slow, text};
  ++verdict.audit.trials;
  verdict.audit.distributions.emplace_back(toString(Law::Normal));
  return false;
}

bool Validation::run(std::vector<Difficulty> &normalDifficulty) {
  oracle = session.start("oracle", &session.oracle, &job.oracle, 2, failure);
  if (!oracle)
    return blame("oracle");
  baseline =
      session.start("baseline", &session.baseline, &job.baseline, 2, failure);
  if (!baseline)
    return blame("baseline");
  candidate = session.start("candidate", &session.candidate, &job.candidate, 2,
                            failure);
  if (!candidate || !create())
    return false;

  uint64_t seed = secretSeed();
  verdict.audit.seed = seed;
  Plan plan = planCases(job, seed);
  verdict.precision = Precision::IEEE;
  bool judged = false;
  size_t needed = plan.required;
  for (size_t number = 0; number < plan.cases.size(); ++number) {
    // Whether the workload is fit is not decided on a part of the trials.
    if (number >= needed &&
        (!job.validate.competitors || competitors.unrejected().empty()))
      break;
    Case &trial = plan.cases[number];
    placement = placement == Placement::End ? Placement::Start : Placement::End;
    std::vector<Difficulty> difficulties;
    std::string why;
    Outcome outcome = prepare(trial, difficulties, why);
    if (outcome == Outcome::Failed)
      return false;
    std::string name(toString(trial.law));
    if (outcome == Outcome::LeftOut) {
      if (isCore(trial.law)) {
        failure = {Status::Unfit, "the op cannot be judged even on N(0,1): " +
                                      why + "; give its operands a range"};
        return false;
      }
      verdict.audit.leftOut.push_back(name + ": " + why);
      ++needed;
      continue;
    }
    // The first trial's slopes serve the timed calls as well; competitors are
    // judged by the very bounds the candidate is; promotion leaves nothing out.
    bool slopeKnown =
        !judged || job.mode == Mode::Promote ||
        (job.validate.competitors && !competitors.unrejected().empty());
    if (slopeKnown && !measureSlope(trial, difficulties))
      return false;
    if (isCore(trial.law))
      for (size_t o = 0; o < job.outputs.size(); ++o) {
        Bounds cap = capOf(job, o, difficulties[o]);
        const Measure &m = difficulties[o].baseline;
        if (isFloat(job.outputs[o].type) &&
            !(m.max <= cap.max && m.frobenius <= cap.frobenius)) {
          char text[300];
          snprintf(text, sizeof(text),
                   "the baseline disagrees with the oracle on N(0,1): result "
                   "%zu is off by %.3g (at most %.3g), Frobenius %.3g (at "
                   "most %.3g); one of them computes something else",
                   o, m.max, cap.max, m.frobenius, cap.frobenius);
          failure = {Status::Error, text};
          return false;
        }
      }
    if (job.validate.competitors)
      competitors.judge(session.dataOf(inputs), session.dataOf(oracleOutputs),
                        difficulties, nameOf(trial));
    bool ok = judgeTrial(trial, difficulties, slopeKnown);
    if (!judged) {
      judged = true;
      normalDifficulty = difficulties;
      if (ok && job.mode == Mode::Evaluate && job.time.screenRatio > 0)
        ok = screen();
      if (ok && job.validate.competitors)
        ok = checkOperands(trial, difficulties) &&
             checkHalfInputs(trial, difficulties);
      if (ok && job.mode == Mode::Promote)
        ok = checkRepeats(trial, difficulties);
    }
    if (!ok) {
      verdict.competitors = competitors.results();
      return false;
    }
    ++verdict.audit.trials;
    if (std::find(verdict.audit.distributions.begin(),
                  verdict.audit.distributions.end(),
                  name) == verdict.audit.distributions.end())
      verdict.audit.distributions.push_back(name);
  }
  verdict.competitors = competitors.results();
  if (job.validate.competitors) {
    std::string weak = competitors.unrejected();
    if (!weak.empty()) {
      failure = {Status::Unfit,
                 "the worthless result '" + weak +
                     "' passes every trial of this job: its inputs cannot "
                     "tell right from wrong; this workload cannot be searched"};
      return false;
    }
  }
  session.account(*oracle);
  session.account(*baseline);
  session.account(*candidate);
  session.spare.push_back(std::move(inputs));
  if (!moved.buffers.empty())
    session.spare.push_back(std::move(moved));
  return true;
}

bool fastk::worker::validateCandidate(Session &session,
                                      std::vector<Difficulty> &difficulty,
                                      Failure &failure) {
  return Validation(session, failure).run(difficulty);
}
