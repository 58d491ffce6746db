//===- RowSchedule.cpp - Who works on what of a group ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowSchedule.h"
#include "Access.h"

using namespace mlir;
using namespace fastk;

/// Blocks that run at the same time on the devices this is tuned for: the
/// multiprocessors of an H200.
static constexpr int64_t kProcessors = 132;
static constexpr int64_t kMaxThreads = 1024;
static constexpr int64_t kLeastThreads = 128;
/// Words that a thread holds from pass to pass: half of what it has when blocks
/// are as large as they may be, and when they are half of that.
static constexpr int64_t kWordsInLargest = 32, kWordsInOthers = 48;
/// Points of a thread beyond which more threads are better.
static constexpr int64_t kPointsWanted = 16;

PointAccess RowGroup::accessOf(OpOperand &operand) const {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  auto type = cast<RankedTensorType>(operand.get().getType());
  PointAccess access;
  access.element = type.getElementType();
  access.extents = op.getStaticLoopRanges();
  access.coefficients =
      *linearCoefficients(op.getMatchingIndexingMap(&operand),
                          rowMajorStrides(type.getShape()), access.extents);
  access.split = *splitLoops(access.extents, rows);
  return access;
}

RowGroup::RowGroup(func::FuncOp func)
    : func(func), rows(cast<IntegerAttr>(func->getAttr(kRowsAttr)).getInt()),
      columns(cast<IntegerAttr>(func->getAttr(kColumnsAttr)).getInt()) {
  for (auto op : func.getOps<linalg::GenericOp>()) {
    ops.push_back(op);
    unsigned own = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (op.payloadUsesValueFromOperand(&operand))
        if (linalg::GenericOp producer = producerOf(operand.get()))
          own = std::max(own, level.lookup(producer));
    level[op] = own + isReduction(op);
    levels = std::max(levels, level[op]);
    for (Value operand : op->getOperands())
      narrow &= cast<RankedTensorType>(operand.getType()).getNumElements() <
                (int64_t(1) << 31) - kMaxThreads * 8;
  }
  chooseWidth();
  countHeldWords();
}

unsigned RowGroup::lastPass() const {
  unsigned last = levels;
  for (Value output : outputs())
    if (linalg::GenericOp op = producerOf(output); isFull(op))
      last = std::max(last, passOf(op));
  return last;
}

void RowGroup::chooseWidth() {
  SmallVector<PointAccess> contiguous;
  int64_t bits = 128;
  for (linalg::GenericOp op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      bool isRead = op.payloadUsesValueFromOperand(&operand) &&
                    !producerOf(operand.get());
      bool isWritten =
          op.isDpsInit(&operand) && isFull(op) &&
          llvm::is_contained(llvm::map_range(outputs(), skipReshapes),
                             op.getTiedOpResult(&operand));
      if (!isRead && !isWritten)
        continue;
      PointAccess access = accessOf(operand);
      if (!access.isVector(1) || !access.element.isIntOrFloat())
        continue;
      contiguous.push_back(access);
      bits = std::min<int64_t>(
          bits, std::max(16u, access.element.getIntOrFloatBitWidth()));
    }
  if (contiguous.empty())
    return;
  width = 128 / bits;
  while (width > 1 && (columns % width != 0 ||
                       llvm::any_of(contiguous, [&](const PointAccess &each) {
                         return !each.isVector(width);
                       })))
    width /= 2;
}

void RowGroup::countHeldWords() {
  // Passes in which each value is first made and last used.
  llvm::DenseMap<Value, std::pair<unsigned, unsigned>> lives;
  std::function<void(Value, OpOperand *, unsigned)> demand =
      [&](Value value, OpOperand *operand, unsigned pass) {
        linalg::GenericOp producer = producerOf(value);
        if (producer && !isFull(producer))
          return;
        // The same for every row, or every point: not held.
        if (!producer && operand && accessOf(*operand).columnStride() == 0)
          return;
        if (!producer && !operand)
          return;
        value = producer ? skipReshapes(value) : value;
        auto [entry, isNew] = lives.insert({value, {pass, pass}});
        entry->second.second = pass;
        if (!isNew || !producer)
          return;
        for (OpOperand &next : producer->getOpOperands())
          if (producer.payloadUsesValueFromOperand(&next))
            demand(next.get(), &next, pass);
      };
  for (unsigned pass = 1; pass <= levels + 1; ++pass) {
    for (linalg::GenericOp op : ops)
      if (isReduction(op) && level[op] == pass)
        for (OpOperand *input : op.getDpsInputOperands())
          demand(input->get(), input, pass);
    for (Value output : outputs())
      if (linalg::GenericOp op = producerOf(output);
          isFull(op) && passOf(op) == pass)
        demand(output, nullptr, pass);
  }
  for (unsigned pass = 1; pass <= levels; ++pass) {
    int64_t words = 0;
    for (auto &[value, life] : lives)
      if (life.first <= pass && life.second > pass) {
        Type type = getElementTypeOrSelf(value.getType());
        words +=
            type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 32 ? 1 : 2;
      }
    heldWords = std::max(heldWords, words);
  }
}

RowSchedule fastk::scheduleRows(const RowGroup &group) {
  RowSchedule schedule;
  int64_t chunks = llvm::divideCeil(group.columns, group.width);
  auto pointsOf = [&](int64_t threads) {
    return int64_t(llvm::divideCeil(chunks, threads)) * group.width;
  };
  int64_t words = std::max<int64_t>(1, group.heldWords);
  int64_t wanted = std::max<int64_t>(group.width, kPointsWanted / words);
  int64_t threads = 1;
  while (threads < kMaxThreads && pointsOf(threads) > wanted)
    threads *= 2;
  // Few rows: more threads of each.
  while (threads < kMaxThreads && pointsOf(threads) > group.width &&
         group.rows * threads < kProcessors * kMaxThreads)
    threads *= 2;
  schedule.threads = threads;
  schedule.blockThreads = std::max(threads, kLeastThreads);
  int64_t limit = threads == kMaxThreads ? kWordsInLargest : kWordsInOthers;
  schedule.holds = pointsOf(threads) * words <= limit;
  if (schedule.holds)
    return schedule;
  schedule.threads = schedule.blockThreads = kMaxThreads;
  // A block for every row leaves too much of the device idle: several.
  if (group.rows < 4 * kProcessors) {
    schedule.threads = schedule.blockThreads = kMaxThreads / 2;
    int64_t step = schedule.threads * kRowUnroll;
    int64_t parts =
        std::min<int64_t>(llvm::divideCeil(8 * kProcessors, group.rows),
                          std::max<int64_t>(1, chunks / step));
    // Whole steps, and no part without any.
    schedule.share = llvm::alignTo(llvm::divideCeil(chunks, parts), step);
    schedule.parts = llvm::divideCeil(chunks, schedule.share);
  }
  return schedule;
}
