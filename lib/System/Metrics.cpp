//===- Metrics.cpp - Numbers for those who watch --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/Metrics.h"
#include "fastk/System/WholeFile.h"
#include <cstdio>

using namespace fastk;
using Clock = std::chrono::steady_clock;

/// Readers come every 15 s or so.
static constexpr std::chrono::seconds kPause{1};

static bool isCounter(const std::string &name) {
  constexpr std::string_view kTotal = "_total";
  return name.size() > kTotal.size() &&
         name.compare(name.size() - kTotal.size(), kTotal.size(), kTotal) == 0;
}

static std::string escape(const std::string &text, bool isLabel) {
  std::string escaped;
  for (char c : text)
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && isLabel)
      escaped += "\\\"";
    else
      escaped += c;
  return escaped;
}

static void append(std::string &text, const MetricLabels &labels) {
  for (const auto &[name, value] : labels)
    text += (text.empty() ? "" : ",") + name + "=\"" +
            escape(value, /*isLabel=*/true) + "\"";
}

double &Metrics::at(const MetricName &metric, const MetricLabels &labels) {
  Family &family = families[metric.name];
  family.help = metric.help;
  std::string text;
  append(text, common);
  append(text, labels);
  return family.series[text];
}

void Metrics::add(const MetricName &metric, const MetricLabels &labels,
                  double value) {
  at(metric, labels) += value;
}

void Metrics::set(const MetricName &metric, const MetricLabels &labels,
                  double value) {
  at(metric, labels) = value;
}

void Metrics::take(const MetricName &metric, const MetricLabels &labels,
                   double value) {
  if (isCounter(metric.name))
    add(metric, labels, value);
  else
    set(metric, labels, value);
}

std::string Metrics::text() const {
  std::string text;
  for (const auto &[name, family] : families) {
    text += "# HELP " + name + " " + escape(family.help, /*isLabel=*/false) +
            "\n# TYPE " + name + (isCounter(name) ? " counter\n" : " gauge\n");
    for (const auto &[labels, value] : family.series) {
      char number[64];
      snprintf(number, sizeof number, "%.15g", value);
      text += name + (labels.empty() ? "" : "{" + labels + "}") + " " + number +
              "\n";
    }
  }
  return text;
}

std::error_code Metrics::write() {
  if (path.empty())
    return {};
  written = Clock::now();
  return writeWholeFile(path, text());
}

std::error_code Metrics::writeIfDue() {
  return Clock::now() - written < kPause ? std::error_code() : write();
}
