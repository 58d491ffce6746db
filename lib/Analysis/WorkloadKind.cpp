//===- WorkloadKind.cpp - What a workload is, for people ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/WorkloadKind.h"
#include "IndexSet.h"
#include "WorkloadNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <iterator>

using namespace mlir;

namespace fastk {

using Kind = ScalarNode::Kind;

static constexpr std::pair<WorkloadKind, llvm::StringLiteral> kKinds[] = {
    {WorkloadKind::Contraction, "contraction"},
    {WorkloadKind::Convolution, "convolution"},
    {WorkloadKind::Softmax, "softmax"},
    {WorkloadKind::Norm, "norm"},
    {WorkloadKind::Attention, "attention"},
    {WorkloadKind::Reduction, "reduction"},
    {WorkloadKind::Elementwise, "elementwise"},
    {WorkloadKind::Pooling, "pooling"},
    {WorkloadKind::Other, "other"}};

llvm::StringRef stringify(WorkloadKind kind) {
  for (auto &[value, text] : kKinds)
    if (value == kind)
      return text;
  return "other";
}

std::optional<WorkloadKind> parseWorkloadKind(llvm::StringRef text) {
  for (auto &[value, spelling] : kKinds)
    if (spelling == text)
      return value;
  return std::nullopt;
}

llvm::StringRef stringify(InputRole role) {
  switch (role) {
  case InputRole::Data:
    return "data";
  case InputRole::Weight:
    return "weight";
  case InputRole::Bias:
    return "bias";
  case InputRole::Scale:
    return "scale";
  case InputRole::Positive:
    return "positive";
  case InputRole::Divisor:
    return "divisor";
  case InputRole::Mask:
    return "mask";
  case InputRole::Index:
    return "index";
  }
  return "data";
}

/// Smaller wins when a workload holds several.
static unsigned rankOf(WorkloadKind kind) {
  static constexpr WorkloadKind order[] = {
      WorkloadKind::Attention,   WorkloadKind::Convolution,
      WorkloadKind::Contraction, WorkloadKind::Softmax,
      WorkloadKind::Norm,        WorkloadKind::Pooling,
      WorkloadKind::Reduction,   WorkloadKind::Elementwise,
      WorkloadKind::Other};
  return std::distance(std::begin(order), llvm::find(order, kind));
}

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// True for a linalg op that only moves or converts its single input.
static bool isMove(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1)
    return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation(true))
      return false;
  for (Operation &scalar : op.getBlock()->without_terminator())
    if (!isa<arith::ExtFOp, arith::TruncFOp>(scalar))
      return false;
  return op.getBlock()->getTerminator()->getOperand(0) !=
         op.getRegionOutputArgs()[0];
}

/// The dimension of `value` that is contiguous where it is stored, seen
/// through transposes and reshapes; and the stored element type.
static int innermostDim(Value value, Type &storage) {
  auto type = cast<RankedTensorType>(value.getType());
  storage = type.getElementType();
  Operation *op = value.getDefiningOp();
  if (!op)
    return type.getRank() - 1;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!isMove(linalgOp))
      return type.getRank() - 1;
    OpOperand *input = linalgOp.getDpsInputOperand(0);
    if (!isa<RankedTensorType>(input->get().getType()))
      return type.getRank() - 1;
    int inner = innermostDim(input->get(), storage);
    if (inner < 0)
      return -1;
    AffineExpr expr = linalgOp.getMatchingIndexingMap(input).getResult(inner);
    AffineMap out =
        linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
    for (auto [r, result] : llvm::enumerate(out.getResults()))
      if (result == expr)
        return r;
    return type.getRank() - 1;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    int inner = innermostDim(expand.getSrc(), storage);
    return inner < 0 ? -1 : expand.getReassociationIndices()[inner].back();
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    int inner = innermostDim(collapse.getSrc(), storage);
    for (auto [i, group] : llvm::enumerate(collapse.getReassociationIndices()))
      if (llvm::is_contained(group, inner))
        return i;
    return -1;
  }
  return type.getRank() - 1;
}

static int64_t product(ArrayRef<int64_t> sizes, ArrayRef<unsigned> dims) {
  int64_t result = 1;
  for (unsigned d : dims)
    result *= sizes[d];
  return result;
}

static ContractionFeatures describeContraction(linalg::LinalgOp op) {
  ContractionFeatures features;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  features.k = product(loops, reduced);
  // By the operands that each loop indexes; also for matvec and dot.
  auto uses = [&](unsigned operand, unsigned loop) {
    return op.getMatchingIndexingMap(op.getDpsInputOperand(operand))
        .isFunctionOfDim(loop);
  };
  for (unsigned d = 0; d < loops.size(); ++d) {
    if (llvm::is_contained(reduced, d))
      continue;
    bool a = uses(0, d), b = uses(1, d);
    (a && b ? features.batch : b ? features.n : features.m) *= loops[d];
  }
  bool *transposed[] = {&features.transposedA, &features.transposedB};
  std::string *types[] = {&features.typeA, &features.typeB};
  for (unsigned i : {0, 1}) {
    OpOperand *operand = op.getDpsInputOperand(i);
    Type storage;
    int inner = innermostDim(operand->get(), storage);
    *types[i] = spell(storage);
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (inner < 0 || map.getNumResults() < 2)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(inner));
    if (!dim)
      continue;
    bool innerIsK = llvm::is_contained(reduced, dim.getPosition());
    *transposed[i] = i == 0 ? !innerIsK : innerIsK;
  }
  features.accumulator =
      spell(getElementTypeOrSelf(op->getResult(0).getType()));
  return features;
}

static ConvolutionFeatures describeConvolution(linalg::LinalgOp op) {
  ConvolutionFeatures features;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  features.accumulator =
      spell(getElementTypeOrSelf(op->getResult(0).getType()));
  Type storage;
  innermostDim(op.getDpsInputOperand(0)->get(), storage);
  features.elementType = spell(storage);
  auto dims = linalg::inferConvolutionDims(op);
  if (failed(dims))
    return features;
  features.batch = product(loops, dims->batch);
  features.groups = product(loops, dims->depth);
  features.inputChannels = product(loops, dims->inputChannel) * features.groups;
  features.outputChannels =
      product(loops, dims->outputChannel) * features.groups;
  for (unsigned d : dims->outputImage)
    features.output.push_back(loops[d]);
  for (unsigned d : dims->filterLoop)
    features.kernel.push_back(loops[d]);
  features.stride.assign(dims->strides.begin(), dims->strides.end());
  features.dilation.assign(dims->dilations.begin(), dims->dilations.end());
  features.padding.assign(dims->outputImage.size(), 0);
  OpOperand *image = op.getDpsInputOperand(0);
  if (auto pad = image->get().getDefiningOp<tensor::PadOp>()) {
    AffineMap map = op.getMatchingIndexingMap(image);
    for (auto [i, loop] : llvm::enumerate(dims->outputImage))
      for (auto [r, expr] : llvm::enumerate(map.getResults()))
        if (expr.isFunctionOfDim(loop) &&
            !ShapedType::isDynamic(pad.getStaticLow()[r]))
          features.padding[i] = pad.getStaticLow()[r];
  }
  return features;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string contractionName(const ContractionFeatures &features) {
  if (features.m == 1 && features.n == 1)
    return "dot";
  std::string prefix = features.batch > 1 ? "batch_" : "";
  return prefix + (features.m == 1 || features.n == 1 ? "matvec" : "matmul");
}

static std::string convolutionName(const ConvolutionFeatures &features) {
  std::string prefix;
  if (features.groups > 1)
    prefix =
        features.groups == features.inputChannels ? "depthwise_" : "grouped_";
  return prefix + "conv" + std::to_string(features.output.size()) + "d";
}

/// The word for a node that belongs to no group; empty for none.
static std::string wordFor(const ScalarNode &node, bool afterProduct) {
  switch (node.kind) {
  case Kind::PoolMax:
    return "maxpool";
  case Kind::PoolSum:
    return "sumpool";
  case Kind::ReduceSum:
    return "sum";
  case Kind::ReduceMax:
    return "max";
  case Kind::ReduceMin:
    return "min";
  case Kind::ReduceOther:
    return "reduce";
  case Kind::Add:
    for (ScalarNode *operand : node.operands)
      if (operand->kind == Kind::Input && operand->elements < node.elements &&
          afterProduct)
        return "bias";
    return "add";
  case Kind::Sub:
    return "sub";
  case Kind::Mul:
    return llvm::any_of(node.operands,
                        [](ScalarNode *n) { return n->isConstant(); })
               ? "scale"
               : "mul";
  case Kind::Div:
    return llvm::any_of(node.operands,
                        [](ScalarNode *n) { return n->isConstant(); })
               ? "scale"
               : "div";
  case Kind::Neg:
    return "neg";
  case Kind::Max:
    return "max";
  case Kind::Min:
    return "min";
  case Kind::Compare:
    return llvm::all_of(
               node.users,
               [](ScalarNode *n) { return n->kind == Kind::Select; }) &&
                   !node.users.empty()
               ? ""
               : "compare";
  case Kind::Select:
    return "where";
  case Kind::Exp:
    return "exp";
  case Kind::Log:
    return "log";
  case Kind::Sqrt:
    return "sqrt";
  case Kind::Rsqrt:
    return "rsqrt";
  case Kind::Erf:
    return "erf";
  case Kind::Tanh:
    return "tanh";
  case Kind::Power:
    return "pow";
  case Kind::Abs:
    return "abs";
  case Kind::Gather:
    return "gather";
  case Kind::Other:
    return node.op ? node.op->getName().stripDialect().str() : "";
  default:
    return "";
  }
}

static WorkloadKind kindFor(const ScalarNode &node) {
  switch (node.kind) {
  case Kind::Contraction:
    return WorkloadKind::Contraction;
  case Kind::Convolution:
    return WorkloadKind::Convolution;
  case Kind::PoolMax:
  case Kind::PoolSum:
    return WorkloadKind::Pooling;
  case Kind::ReduceSum:
  case Kind::ReduceMax:
  case Kind::ReduceMin:
  case Kind::ReduceOther:
    return WorkloadKind::Reduction;
  case Kind::Other:
    return isa_and_nonnull<linalg::SoftmaxOp>(node.op) ? WorkloadKind::Softmax
                                                       : WorkloadKind::Other;
  case Kind::Gather:
    return WorkloadKind::Other;
  default:
    return WorkloadKind::Elementwise;
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Whether `user` does to the input what nobody does to a scale or a bias:
/// squares it, sums it up, takes its magnitude.
static bool usesAsData(const ScalarNode &input, const ScalarNode &user) {
  switch (user.kind) {
  case Kind::Mul:
    return llvm::all_of(user.operands,
                        [&](ScalarNode *n) { return n == &input; });
  case Kind::Power:
    return user.operands[0] == &input;
  case Kind::Abs:
  case Kind::Exp:
  case Kind::ReduceSum:
  case Kind::ReduceMax:
  case Kind::ReduceMin:
  case Kind::ReduceOther:
    return true;
  default:
    return false;
  }
}

/// What the users of an input make of it, its domain left aside.
static InputRole roleByUsers(const ScalarNode &input,
                             ArrayRef<NamedGroup> groups) {
  InputRole role = InputRole::Data;
  bool isData = false;
  for (ScalarNode *user : input.users) {
    bool small = input.elements < user->elements;
    auto inKind = [&](WorkloadKind kind) {
      return user->group >= 0 && groups[user->group].kind == kind;
    };
    isData |= usesAsData(input, *user);
    switch (user->kind) {
    case Kind::Contraction:
      // The product of two operands of the workload; scores have two.
      if (!inKind(WorkloadKind::Attention) && user->operands[1] == &input &&
          user->operands[0] != &input)
        role = InputRole::Weight;
      if (user->operands.size() > 2 && user->operands[2] == &input)
        role = InputRole::Bias;
      break;
    case Kind::Convolution:
      if (user->operands[1] == &input)
        role = InputRole::Weight;
      if (user->operands.size() > 2 && user->operands[2] == &input)
        role = InputRole::Bias;
      break;
    case Kind::Add:
      if (inKind(WorkloadKind::Attention))
        role = InputRole::Mask;
      else if ((small || inKind(WorkloadKind::Norm)) && role == InputRole::Data)
        role = InputRole::Bias;
      break;
    case Kind::Mul:
      if ((small || inKind(WorkloadKind::Norm)) && role == InputRole::Data)
        role = InputRole::Scale;
      break;
    case Kind::Gather:
      if (user->operands[0] == &input)
        role = InputRole::Weight;
      break;
    default:
      break;
    }
  }
  bool isParameter = role == InputRole::Scale || role == InputRole::Bias;
  return isParameter && isData ? InputRole::Data : role;
}

static bool isDivision(const ScalarNode &node) {
  return node.kind == Kind::Div ||
         isa_and_nonnull<arith::RemSIOp, arith::RemUIOp, arith::RemFOp,
                         arith::FloorDivSIOp, arith::CeilDivSIOp,
                         arith::CeilDivUIOp>(node.op);
}

/// Follows an input to the logarithms, roots, powers and divisions that not
/// every value has a result of: through shifts and factors that are constant. A
/// variance is such an input.
static void findDomain(const ScalarNode &input, InputFeatures &features) {
  struct Step {
    const ScalarNode *node;
    int depth;
    bool shifted;
  };
  SmallVector<Step> work = {{&input, 0, false}};
  auto divide = [&](bool shifted) {
    features.nonZero = true;
    // Where a constant is added, the zero of the divisor lies somewhere among
    // one sign's values.
    bool isPositive = shifted || features.role == InputRole::Positive;
    features.role = isPositive ? InputRole::Positive : InputRole::Divisor;
  };
  while (!work.empty()) {
    auto [node, depth, shifted] = work.pop_back_val();
    for (const ScalarNode *user : node->users) {
      bool isSecond = user->operands.size() > 1 && user->operands[1] == node;
      bool positive = user->kind == Kind::Log || user->kind == Kind::Sqrt ||
                      user->kind == Kind::Rsqrt;
      if (user->kind == Kind::Power && user->operands[0] == node) {
        // An integral power has every sign for its base.
        std::optional<double> exponent = user->operands[1]->constant;
        bool isIntegral = exponent ? std::trunc(*exponent) == *exponent
                                   : isa<math::FPowIOp>(user->op);
        positive |= !isIntegral;
        if (isIntegral && exponent && *exponent < 0)
          divide(shifted);
      }
      if (positive) {
        features.positive = true;
        features.role = InputRole::Positive;
      }
      if (isDivision(*user) && isSecond)
        divide(shifted);
      bool throughConstant =
          (user->kind == Kind::Add || user->kind == Kind::Mul) &&
          llvm::any_of(user->operands,
                       [](ScalarNode *n) { return n->isConstant(); });
      if (throughConstant && depth < 4)
        work.push_back({user, depth + 1, shifted || user->kind == Kind::Add});
    }
  }
}

/// The constant that `node` is found to be equal to, or not, where `condition`
/// is taken.
static std::optional<int64_t> comparedWith(const ScalarNode &condition,
                                           const ScalarNode *node) {
  auto compare = dyn_cast_or_null<arith::CmpIOp>(condition.op);
  if (!compare || condition.operands[0] != node ||
      !condition.operands[1]->constant ||
      (compare.getPredicate() != arith::CmpIPredicate::eq &&
       compare.getPredicate() != arith::CmpIPredicate::ne))
    return std::nullopt;
  return static_cast<int64_t>(*condition.operands[1]->constant);
}

/// Follows an integer to the places where it is an index, or how far something
/// is shifted, or where a divisor is made of it.
static void findBounds(const ScalarNode &input, unsigned width,
                       InputFeatures &features) {
  struct Step {
    const ScalarNode *node;
    /// Other than a choice among values, or what wraps negative indices.
    bool arithmetic;
    /// Chosen by a comparison with a constant.
    bool guarded;
  };
  SmallVector<Step> work = {{&input, false, false}};
  llvm::DenseSet<const ScalarNode *> seen;
  bool everywhereGuarded = true;
  while (!work.empty()) {
    auto [node, arithmetic, guarded] = work.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    for (const ScalarNode *user : node->users) {
      if (node == &input)
        if (std::optional<int64_t> constant = comparedWith(*user, node))
          features.special = constant;
      bool isShift =
          isa_and_nonnull<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(
              user->op) &&
          user->operands[1] == node;
      if (isShift) {
        features.role = InputRole::Index;
        features.indexBound = width;
        everywhereGuarded = false;
      }
      features.makesDivisors |=
          isDivision(*user) && node != &input && user->operands[1] == node;
      if (user->kind == Kind::Gather) {
        auto extract = cast<tensor::ExtractOp>(user->op);
        auto table = cast<RankedTensorType>(extract.getTensor().getType());
        for (auto [i, operand] :
             llvm::enumerate(ArrayRef(user->operands).drop_front())) {
          if (operand != node)
            continue;
          everywhereGuarded &= guarded;
          if (arithmetic) {
            features.addresses = true;
            continue;
          }
          int64_t size = table.getDimSize(i);
          features.role = InputRole::Index;
          features.indexBound = features.indexBound > 0
                                    ? std::min(features.indexBound, size)
                                    : size;
        }
      }
      // What is compared, gathered or reduced is another value.
      bool wraps =
          user->kind == Kind::Add &&
          llvm::any_of(user->operands,
                       [](ScalarNode *n) { return n->isConstant(); }) &&
          llvm::all_of(user->users,
                       [](ScalarNode *n) { return n->kind == Kind::Select; });
      bool chooses = user->kind == Kind::Max || user->kind == Kind::Min ||
                     (user->kind == Kind::Select && user->operands[0] != node);
      bool goesOn = user->op && !user->isReduction() &&
                    user->kind != Kind::Compare && user->kind != Kind::Gather &&
                    user->kind != Kind::Select;
      bool guards =
          user->kind == Kind::Select && comparedWith(*user->operands[0], node);
      if (chooses || goesOn)
        work.push_back(
            {user, arithmetic || !(chooses || wraps), guarded || guards});
    }
  }
  // Nor where it divides.
  bool elsewhere = features.makesDivisors || features.nonZero;
  if (!everywhereGuarded || elsewhere ||
      (features.role == InputRole::Index && features.indexBound <= 0))
    features.special.reset();
}

static InputFeatures describeInput(const ScalarNode &input, Type type,
                                   ArrayRef<NamedGroup> groups) {
  InputFeatures features;
  Type element = getElementTypeOrSelf(type);
  if (element.isInteger(1)) {
    features.role = InputRole::Mask;
    return features;
  }
  features.role = roleByUsers(input, groups);
  findDomain(input, features);
  if (element.isIntOrIndex())
    findBounds(input, element.isIndex() ? 64 : element.getIntOrFloatBitWidth(),
               features);
  return features;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static int64_t reducedLength(Operation *owner, int64_t *rows = nullptr) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(owner);
  if (!op)
    return 1;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced, parallel;
  op.getReductionDims(reduced);
  op.getParallelDims(parallel);
  if (rows)
    *rows = product(loops, parallel);
  return product(loops, reduced);
}

WorkloadFeatures analyzeWorkload(Region &body) {
  return body.empty() ? WorkloadFeatures() : analyzeWorkload(body.front());
}

WorkloadFeatures analyzeWorkload(Block &body) {
  WorkloadFeatures features;
  ScalarGraph graph(body);
  SmallVector<NamedGroup> groups = nameGroups(graph);

  llvm::DenseSet<const ScalarNode *> fromInputs;
  SmallVector<int> lastOfGroup(groups.size(), -1);
  int position = 0;
  for (const ScalarNode &node : graph.nodes) {
    if (node.kind == Kind::Input ||
        llvm::any_of(node.operands, [&](ScalarNode *operand) {
          return fromInputs.contains(operand);
        }))
      fromInputs.insert(&node);
    if (node.group >= 0)
      lastOfGroup[node.group] = position;
    ++position;
  }

  SmallVector<std::string> words;
  size_t afterProduct = 0;
  bool seenProduct = false;
  auto settle = [&](WorkloadKind kind) {
    if (rankOf(kind) < rankOf(features.kind))
      features.kind = kind;
  };
  position = -1;
  for (const ScalarNode &node : graph.nodes) {
    ++position;
    if (!fromInputs.contains(&node) || node.kind == Kind::Input)
      continue;
    if (node.isReduction())
      features.reductionLength =
          std::max(features.reductionLength, reducedLength(node.owner));
    features.piecewise |= node.kind == Kind::Select || node.kind == Kind::Max ||
                          node.kind == Kind::Min ||
                          node.kind == Kind::Compare ||
                          node.kind == Kind::PoolMax || node.kind == Kind::Abs;
    std::string word;
    bool isProduct = false;
    if (node.kind == Kind::Contraction) {
      features.contractions.push_back(
          describeContraction(cast<linalg::LinalgOp>(node.owner)));
      word = contractionName(features.contractions.back());
      isProduct = true;
    } else if (node.kind == Kind::Convolution) {
      features.convolutions.push_back(
          describeConvolution(cast<linalg::LinalgOp>(node.owner)));
      word = convolutionName(features.convolutions.back());
      isProduct = true;
    }
    if (node.group >= 0) {
      if (lastOfGroup[node.group] != position)
        continue;
      const NamedGroup &group = groups[node.group];
      words.push_back(group.name);
      settle(group.kind);
      if (group.kind == WorkloadKind::Attention) {
        seenProduct = true;
        afterProduct = words.size();
      }
      continue;
    }
    if (!isProduct)
      word = wordFor(node, seenProduct);
    settle(kindFor(node));
    if (word.empty())
      continue;
    words.push_back(word);
    if (!isProduct)
      continue;
    seenProduct = true;
    afterProduct = words.size();
    ScalarNode *start = node.operands.back();
    if (fromInputs.contains(start))
      words.push_back(start->elements < node.elements ? "bias" : "add");
  }

  if (seenProduct)
    features.epilogue.assign(words.begin() + afterProduct, words.end());
  if (words.empty()) {
    bool converts = false, moves = false;
    body.walk([&](Operation *op) {
      converts |=
          isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp>(
              op);
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        moves |= llvm::any_of(linalgOp.getIndexingMapsArray(),
                              [](AffineMap map) { return !map.isIdentity(); });
    });
    bool constant = llvm::none_of(graph.results, [&](ScalarNode *node) {
      return fromInputs.contains(node);
    });
    words.push_back(constant   ? "fill"
                    : converts ? "cast"
                    : moves    ? "permute"
                               : "copy");
    if (converts && !constant)
      features.kind = WorkloadKind::Elementwise;
  }
  // Long chains are cut: the name is for people.
  constexpr size_t kMaxWords = 8;
  for (auto [i, word] : llvm::enumerate(words)) {
    if (i == kMaxWords) {
      features.name += "_etc";
      break;
    }
    features.name += (i ? "_" : "") + word;
  }

  for (const NamedGroup &group : groups)
    if (group.reduction && (!features.rows || group.kind == features.kind))
      features.rowLength =
          reducedLength(group.reduction->owner, &features.rows);
  if (!features.rows && features.kind == WorkloadKind::Reduction)
    for (const ScalarNode &node : graph.nodes)
      if (node.isReduction() && fromInputs.contains(&node))
        features.rowLength = reducedLength(node.owner, &features.rows);

  for (ScalarNode *input : graph.inputs)
    features.inputs.push_back(describeInput(
        *input, body.getArgument(input->input).getType(), groups));
  return features;
}

} // namespace fastk
