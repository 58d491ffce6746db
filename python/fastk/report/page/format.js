/*===- format.js - Numbers and names for people -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

const DASH = '–';

function significant(value) {
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toFixed(digits);
}

function fmtTime(seconds) {
  if (!(seconds > 0)) return DASH;
  let value = seconds * 1e9;
  for (const unit of ['ns', 'µs', 'ms'])
    if (value < 999.5) return `${significant(value)} ${unit}`;
    else value /= 1000;
  return `${significant(value)} s`;
}

function fmtDuration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${seconds.toFixed(0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

const fmtGain = (ratio) => (ratio > 0 ? `${ratio.toFixed(ratio < 10 ? 2 : 1)}×` : DASH);

function fmtShare(share) {
  if (!(share > 0)) return DASH;
  const percent = 100 * share;
  return `${percent < 1 ? percent.toPrecision(2) : percent.toFixed(1)} %`;
}

const fmtCount = (value) => Number(value).toLocaleString('en-US');
const fmtUsd = (value) =>
  value === null ? DASH : `$${value.toFixed(value < 1 ? 4 : 2)}`;
const fmtError = (value) =>
  value === null || value === undefined ? 'not finite' : value.toExponential(2);
const plural = (count, what) => `${fmtCount(count)} ${what}${count === 1 ? '' : 's'}`;

const roundName = (label) =>
  label === 'sweep'
    ? 'Final sweep'
    : label === 'promoted'
      ? 'Second measurement'
      : label === '0'
        ? 'Default lowering'
        : `Round ${label}`;

const CATEGORIES = [
  'memory access',
  'async and latency hiding',
  'data type and precision',
  'compute and instructions',
  'parallelism and occupancy',
  'control flow and loops',
];

const HOW = {
  realise: '',
  repair: 'repair',
  neighbours: 'numbers tuned',
  seed: 'from the bank',
};

const LANGUAGES = { c: 'C', cuda: 'CUDA', gpu: 'gpu dialect', ptx: 'PTX', schedule: 'schedule' };

/* How a status looks: class and mark. */
function look(status) {
  if (status === 'ok') return ['good', '✓'];
  if (status === 'slow') return ['warn', '◔'];
  if (status === 'duplicate') return ['', '='];
  if (status === 'not evaluated') return ['', '·'];
  return ['bad', '✕'];
}

const mark = (status) => {
  const [kind, sign] = look(status);
  return h('span', { class: `mark ${kind}`, 'aria-hidden': 'true' }, sign);
};
const badge = (what, kind) => h('span', { class: `badge ${kind || ''}` }, what);
const statusBadge = (status) => badge(status, look(status)[0]);
const swatch = () => h('span', { class: 'swatch', 'aria-hidden': 'true' });

const ideaOf = (variant) =>
  variant.idea === null ? null : state.search.ideas[variant.idea];
const titleOf = (variant) => {
  const idea = ideaOf(variant);
  return idea ? idea.title : 'A winner of the bank';
};
const categoryOf = (variant) => {
  const idea = ideaOf(variant);
  return idea ? idea.category : '';
};
const nameOf = (variant) => variant.digest.slice(0, 8);
const parameterText = (variant) =>
  variant.parameters.map(([name, value]) => `${name}=${value}`).join(' ');

/* The numbers in which a variant differs from the one that it was made from, or, for
 * first realisations, from the others of its idea. */
function ownNumbers(search, variant) {
  const isFirst = variant.how === 'realise';
  const idea = ideaOf(variant);
  const others = isFirst ? (idea && idea.variants) || [] : [variant.parent];
  const compared = others.filter((each) => each !== null)
    .map((each) => search.variants[each]).filter((each) => each !== variant);
  const own = variant.parameters.filter(([name, value]) => compared.some((other) => {
    const theirs = other.parameters.find(([each]) => each === name);
    return !theirs || theirs[1] !== value;
  }));
  return own.map(([name, value]) => `${name}=${value}`).join(' ');
}
