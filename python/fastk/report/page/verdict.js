/*===- verdict.js - What an evaluation found -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

const fmtNs = (value) => (typeof value === 'number' ? fmtTime(value * 1e-9) : DASH);

/* `right` are the columns of numbers, `wide` the one that needs room for its text. */
function table(head, rows, right, wide) {
  const isRight = (i) => (right.includes(i) ? 'right' : i === wide ? 'idea' : 'wrap');
  return h('div', { class: 'scroll-x' }, h('table', {},
    h('thead', {}, h('tr', {}, head.map((each, i) =>
      h('th', { scope: 'col', class: isRight(i) }, each)))),
    h('tbody', {}, rows.map((row) => h('tr', { class: row.kind },
      (row.cells || row).map((each, i) => h('td', { class: isRight(i) }, each)))))));
}

function timesTable(verdict) {
  if (!verdict.times.length) return null;
  return [h('h3', {}, 'Times, measured side by side'),
    table(['', 'median', '10 % to 90 %', 'samples'],
      verdict.times.map(([name, t]) => [
        { candidate: 'this variant', baseline: 'default lowering',
          incumbent: 'best so far' }[name],
        fmtNs(t.median_ns), `${fmtNs(t.p10_ns)} to ${fmtNs(t.p90_ns)}`,
        typeof t.samples === 'number' ? fmtCount(t.samples) : DASH]), [1, 2, 3])];
}

function ratiosTable(verdict) {
  if (!verdict.ratios.length) return null;
  return [h('h3', {}, 'Speed-up, with its 95 % interval'),
    table(['', 'median', 'interval'], verdict.ratios.map(([name, median, low, high]) =>
      [name, `${median.toFixed(3)}×`, `${low.toFixed(3)} to ${high.toFixed(3)}`]), [1, 2])];
}

function errorsTable(verdict) {
  if (!verdict.errors.length) return null;
  return [h('h3', {}, 'Errors against the oracle, the worst trial of each kind of input'),
    table(['inputs', 'trials', 'error', 'bound', 'of bound', 'class'],
      verdict.errors.map((each) => [
        each.distribution, fmtCount(each.trials),
        each.nan_mismatch ? `${fmtCount(each.nan_mismatch)} elements differ in kind`
          : fmtError(each.error),
        fmtError(each.bound),
        each.share === null ? '> 100 %'
          : badge(each.share < 1e-3 ? '< 0.1 %' : `${(100 * each.share).toPrecision(3)} %`,
            each.share > 1 ? 'bad' : ''),
        each.precision || DASH]), [1, 2, 3, 4])];
}

function kernelsTable(verdict) {
  if (!verdict.kernels.length) return null;
  const bytes = (k) => (k.spill_store_bytes || 0) + (k.spill_load_bytes || 0);
  return [h('h3', {}, 'Kernels, as they were compiled'),
    table(['kernel', 'registers', 'spilled', 'stack', 'shared, static'],
      verdict.kernels.map((k) => [k.name, k.registers ?? DASH,
        bytes(k) ? badge(`${fmtCount(bytes(k))} B`, 'warn') : '0 B',
        `${fmtCount(k.stack_bytes || 0)} B`, `${fmtCount(k.shared_bytes || 0)} B`]),
      [1, 2, 3, 4])];
}

function verdictView(verdict) {
  return h('div', {},
    h('p', { class: `callout ${look(verdict.status)[0]}` },
      h('b', {}, verdict.status), verdict.reason ? `: ${verdict.reason}` : ''),
    verdict.warnings.map((each) => h('p', { class: 'callout' }, each)),
    h('div', { class: 'columns' }, h('div', {}, timesTable(verdict)),
      h('div', {}, ratiosTable(verdict))),
    kernelsTable(verdict), errorsTable(verdict),
    h('div', {}, talk('All of it, in the worker\u2019s words, but for the trials',
      text(verdict.raw), false)));
}
