//===- DescribeInputs.cpp - What a workload's operands are for ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeWorkload.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace fastk {

using Kind = ScalarNode::Kind;

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

/// What a choice adds to `node` where that is negative, and only there.
static std::optional<int64_t> wrapOf(const ScalarNode &choice,
                                     const ScalarNode *node) {
  if (choice.kind != Kind::Select || choice.operands[2] != node)
    return std::nullopt;
  const ScalarNode &condition = *choice.operands[0];
  const ScalarNode &sum = *choice.operands[1];
  auto compare = dyn_cast_or_null<arith::CmpIOp>(condition.op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      condition.operands[0] != node || condition.operands[1]->constant != 0.0 ||
      sum.kind != Kind::Add || !llvm::is_contained(sum.operands, node))
    return std::nullopt;
  for (const ScalarNode *term : sum.operands)
    if (term->constant)
      return static_cast<int64_t>(*term->constant);
  return std::nullopt;
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
    /// What was added to it where it was negative.
    std::optional<int64_t> wrap = {};
  };
  SmallVector<Step> work = {{&input, false, false}};
  llvm::DenseSet<const ScalarNode *> seen;
  bool everywhereGuarded = true;
  while (!work.empty()) {
    auto [node, arithmetic, guarded, wrap] = work.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    for (const ScalarNode *user : node->users) {
      std::optional<int64_t> wrapped = wrapOf(*user, node);
      // The sum of a wrapped index is followed with the index.
      if (user->kind == Kind::Select && user->operands[1] == node &&
          wrapOf(*user, user->operands[2]))
        continue;
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
        features.indexLow = 0;
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
          int64_t size = table.getDimSize(i), low = wrap == size ? -size : 0;
          features.indexLow =
              features.indexBound > 0 ? std::max(features.indexLow, low) : low;
          features.role = InputRole::Index;
          features.indexBound = features.indexBound > 0
                                    ? std::min(features.indexBound, size)
                                    : size;
        }
      }
      // What is compared, gathered by or reduced is another value.
      bool wraps =
          user->kind == Kind::Add &&
          llvm::any_of(user->operands,
                       [](ScalarNode *n) { return n->isConstant(); }) &&
          llvm::all_of(user->users,
                       [](ScalarNode *n) { return n->kind == Kind::Select; });
      bool chooses =
          user->kind == Kind::Max || user->kind == Kind::Min ||
          (user->kind == Kind::Select && user->operands[0] != node) ||
          (user->kind == Kind::Gather && user->operands[0] == node);
      bool goesOn = user->op && !user->isReduction() &&
                    user->kind != Kind::Compare && user->kind != Kind::Gather &&
                    user->kind != Kind::Select;
      bool guards =
          user->kind == Kind::Select && comparedWith(*user->operands[0], node);
      if (chooses || goesOn)
        work.push_back({user, arithmetic || !(chooses || wraps),
                        guarded || guards, wrapped ? wrapped : wrap});
    }
  }
  // Others are in range by what is computed of them.
  if (features.addresses)
    features.indexLow = 0;
  // Nor where it divides.
  bool elsewhere = features.makesDivisors || features.nonZero;
  if (!everywhereGuarded || elsewhere ||
      (features.role == InputRole::Index && features.indexBound <= 0))
    features.special.reset();
}

InputFeatures describeInput(const ScalarNode &input, Type type,
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

} // namespace fastk
