//===- Metrics.h - Numbers for those who watch ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_METRICS_H
#define FASTK_SYSTEM_METRICS_H

#include <chrono>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fastk {

/// What a number is called, and what it is. A name that ends in "_total" is a
/// counter, any other a gauge, as Prometheus has it.
struct MetricName {
  std::string name, help;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// The numbers of one process in Prometheus' text format, in a file that is
/// replaced as a whole: for the textfile collector of its node_exporter, or for
/// whoever reads it. Counters begin at 0 with the process.
class Metrics {
public:
  /// \p common are labels of all numbers. Empty \p path: nothing is written.
  explicit Metrics(std::string path, MetricLabels common = {})
      : path(std::move(path)), common(std::move(common)) {}

  void add(const MetricName &metric, const MetricLabels &labels, double value);
  void set(const MetricName &metric, const MetricLabels &labels, double value);
  /// add() to a counter, set() of a gauge.
  void take(const MetricName &metric, const MetricLabels &labels, double value);

  std::string text() const;
  /// Writes the file. An error changes nothing that is there.
  std::error_code write();
  /// The same unless that was less than a second ago.
  std::error_code writeIfDue();

private:
  struct Family {
    std::string help;
    /// By their labels, as text.
    std::map<std::string, double> series;
  };
  double &at(const MetricName &metric, const MetricLabels &labels);

  std::string path;
  MetricLabels common;
  std::map<std::string, Family> families;
  std::chrono::steady_clock::time_point written = {};
};

} // namespace fastk

#endif // FASTK_SYSTEM_METRICS_H
