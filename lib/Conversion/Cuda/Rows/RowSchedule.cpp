//===- RowSchedule.cpp - Who works on what of a group ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowSchedule.h"
#include "Cuda/Kernels/Access.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fastk;

/// Blocks that run at the same time on the devices this is tuned for: the
/// multiprocessors of an H200.
static constexpr int64_t kProcessors = 132;
static constexpr int64_t kMaxThreads = 1024;
static constexpr int64_t kMinThreads = 128;
/// Words that a thread holds from pass to pass: half of what it has when blocks
/// are as large as they may be, and when they are half of that.
static constexpr int64_t kWordsInLargest = 32, kWordsInOthers = 48;
/// Points of a thread beyond which more threads are better.
static constexpr int64_t kPointsWanted = 16;
/// Of a multiprocessor and of a thread: compute capability 8.0 and later
/// (CUDA C++ Programming Guide, "Technical Specifications").
static constexpr int64_t kRegisters = 65536, kMaxRegisters = 255;
static constexpr int64_t kThreadsOfProcessor = 2048;
/// Functions and divisions in f64 of a point, all passes together, beyond which
/// a thread has registers for few points at a time, and a block is small so
/// that it has them.
static constexpr int64_t kManyDoubleFunctions = 4;
/// What a kernel needs beside the values it keeps: addresses, sums.
static constexpr int64_t kOtherRegisters = 24;

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

/// Whether the op becomes many instructions, with values of two registers.
static bool isDoubleFunction(Operation &op) {
  bool isDouble =
      llvm::any_of(op.getResultTypes(), [](Type type) { return type.isF64(); });
  return isDouble &&
         (isa<math::MathDialect>(op.getDialect()) || isa<arith::DivFOp>(op));
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
    doubleFunctions += llvm::count_if(*op.getBody(), isDoubleFunction);
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

std::optional<RowSchedule> fastk::scheduleRows(RowGroup &group,
                                               KernelChoices &choices) {
  RowSchedule schedule;
  int64_t width = choices.decide("row_width", group.width);
  if (!choices.fits(width, group.width,
                    "'fastk.row_width' is wider than rows and memory allow"))
    return std::nullopt;
  group.width = width;
  bool isLong = group.doubleFunctions > kManyDoubleFunctions;
  schedule.unroll = choices.decide("row_unroll", isLong ? 1 : schedule.unroll);
  schedule.backwards = choices.decide("row_backwards", 1);
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
  threads = choices.find("row_threads").value_or(threads);
  int64_t limit = threads == kMaxThreads ? kWordsInLargest : kWordsInOthers;
  int64_t blocks = choices.find("row_blocks").value_or(1);
  schedule.holds = choices.decide(
      "row_keep", blocks == 1 && pointsOf(threads) * words <= limit);
  int64_t parts = blocks;
  if (!schedule.holds && !choices.isGiven("row_threads")) {
    threads = isLong ? kMaxThreads / 2 : kMaxThreads;
    if (choices.isGiven("row_keep"))
      threads = std::min<int64_t>(threads, llvm::PowerOf2Ceil(chunks));
    // A block for every row leaves too much of the device idle: several.
    if (group.rows < 4 * kProcessors && !choices.isGiven("row_blocks")) {
      threads = std::min(threads, kMaxThreads / 2);
      parts = std::min<int64_t>(
          llvm::divideCeil(8 * kProcessors, group.rows),
          std::max<int64_t>(1, chunks / (threads * schedule.unroll)));
    }
  }
  schedule.threads = choices.decide("row_threads", threads);
  schedule.blockThreads = choices.decide(
      "row_block", std::max(threads, schedule.holds ? kMinThreads : threads));
  schedule.blockThreads = std::max<int64_t>(schedule.blockThreads, 32);
  if (!choices.fits(schedule.threads, schedule.blockThreads,
                    "'fastk.row_threads' is more than the threads of a block, "
                    "'fastk.row_block'"))
    return std::nullopt;
  parts = choices.decide("row_blocks", parts);
  if (parts > 1) {
    if (schedule.holds)
      choices.refuse("'fastk.row_keep' = 1 keeps values of whole rows, which "
                     "'fastk.row_blocks' = " +
                     Twine(parts) + " cuts");
    else if (schedule.threads != schedule.blockThreads)
      choices.refuse("'fastk.row_blocks' = " + Twine(parts) +
                     " needs blocks of one row: 'fastk.row_block' = "
                     "'fastk.row_threads'");
    if (!choices.problem().empty())
      return std::nullopt;
    // Whole steps, and no part without any.
    int64_t step = schedule.threads * schedule.unroll;
    schedule.share = llvm::alignTo(llvm::divideCeil(chunks, parts), step);
    schedule.parts = llvm::divideCeil(chunks, schedule.share);
    if (choices.isGiven("row_blocks") && schedule.parts != parts) {
      choices.refuse("'fastk.row_blocks' = " + Twine(parts) +
                     " leaves some blocks nothing of a row: with steps of " +
                     Twine(step) + " vectors there is work for " +
                     Twine(schedule.parts));
      return std::nullopt;
    }
  }
  schedule.resident = choices.decide("row_resident", 0);
  // What a thread has for values when so many are resident.
  int64_t resident = std::max<int64_t>(1, schedule.resident);
  if (!choices.fits(schedule.blockThreads * resident, kThreadsOfProcessor,
                    "'fastk.row_resident': threads of a multiprocessor"))
    return std::nullopt;
  int64_t registers = std::min<int64_t>(
      kMaxRegisters, kRegisters / (schedule.blockThreads * resident));
  bool isGiven = choices.hasAny("row_");
  if (isGiven && schedule.holds &&
      !choices.fits(pointsOf(schedule.threads) * words + kOtherRegisters,
                    registers,
                    "'fastk.row_keep' = 1 keeps " +
                        Twine(pointsOf(schedule.threads) * words) +
                        " words a thread; registers of a thread"))
    return std::nullopt;
  if (isGiven && !schedule.holds &&
      !choices.fits(schedule.unroll * group.width * words, kMaxRegisters / 2,
                    "'fastk.row_unroll' loads too much at a time; registers"))
    return std::nullopt;
  return schedule;
}
