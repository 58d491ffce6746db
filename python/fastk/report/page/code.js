/*===- code.js - Programs, and what differs between two of them -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

const KEYWORDS = new Set(('alignas auto bool break case char class const constexpr continue ' +
  'default do double else enum extern false float for goto half if inline int long ' +
  'namespace nullptr operator private public register restrict return short signed ' +
  'sizeof static static_assert struct switch template this true typedef typename ' +
  'union unsigned using void volatile while __global__ __device__ __shared__ ' +
  '__restrict__ __launch_bounds__ __forceinline__ __syncthreads uint32_t uint64_t ' +
  'int32_t int64_t size_t ' +
  'module func transform structured named_sequence yield tensor memref vector f16 ' +
  'f32 f64 bf16 i1 i8 i32 i64 index').split(' '));
const TOKEN = new RegExp([
  '(\\/\\/.*$|\\/\\*.*?(?:\\*\\/|$))',
  '("(?:[^"\\\\]|\\\\.)*"?)',
  '(^\\s*#\\s*\\w+)',
  '\\b((?:0x[0-9a-fA-F]+|\\d+\\.?\\d*(?:[eE][+-]?\\d+)?)[fFuUlL]*)\\b',
  '([A-Za-z_]\\w*)',
].join('|'), 'g');
const KINDS = ['co', 'st', 'di', 'nu'];

/* A line as nodes, coloured. Comments over several lines are coloured only in the
 * lines that begin or end them: enough to read by. */
function colour(line) {
  if (line.length > 2000) return [line];
  const result = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    const which = match.slice(1).findIndex((each) => each !== undefined);
    const kind = which < 4 ? KINDS[which] : KEYWORDS.has(match[0]) ? 'kw' : '';
    if (!kind) continue;
    if (match.index > at) result.push(line.slice(at, match.index));
    result.push(h('span', { class: kind }, match[0]));
    at = match.index + match[0].length;
  }
  if (at < line.length) result.push(line.slice(at));
  return result;
}

function codeLine(number, content, kind, sign) {
  return h('div', { class: `line ${kind || ''}` },
    h('span', { class: 'no', 'aria-hidden': 'true' }, number === null ? '' : number),
    h('span', { class: 'src' },
      sign === undefined ? null : h('span', { class: 'sign' }, sign), content));
}

const linesOf = (source) => source.split('\n');

function codeBox(label, children) {
  return h('div', { class: 'code', role: 'region', 'aria-label': label, tabindex: '0' },
    children);
}

function copyButton(source) {
  const button = h('button', { type: 'button', class: 'button no-print',
    on: {
      click: async () => {
        try {
          await navigator.clipboard.writeText(source);
          button.textContent = 'Copied';
        } catch {
          button.textContent = 'Cannot copy here';
        }
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      },
    } }, 'Copy');
  return button;
}

function codeView(source, label, facts) {
  const lines = linesOf(source);
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return h('div', {},
    h('div', { class: 'tools' }, facts, h('span', { class: 'space' }),
      `${plural(lines.length, 'line')}`, copyButton(source)),
    codeBox(label, lines.map((line, i) => codeLine(i + 1, colour(line)))));
}

/* What of a line the other one has not, marked: the longest common sequence of words
 * and signs is what they share. */
function marked(line, other) {
  const words = (each) => each.match(/\w+|\s+|[^\w\s]/g) || [];
  const a = words(line);
  const b = words(other);
  if (a.length * b.length > 60000) return [line];
  const shared = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      shared[i][j] = a[i] === b[j] ? shared[i + 1][j + 1] + 1
        : Math.max(shared[i + 1][j], shared[i][j + 1]);
  /* Lines that share little are simply different. */
  if (shared[0][0] < Math.max(a.length, b.length) * 0.4) return [line];
  const result = [];
  let run = '';
  const flush = () => {
    if (run) result.push(h('mark', {}, run));
    run = '';
  };
  let j = 0;
  for (let i = 0; i < a.length; ++i) {
    while (j < b.length && a[i] !== b[j] && shared[i][j + 1] === shared[i][j]) ++j;
    if (j < b.length && a[i] === b[j]) {
      flush();
      result.push(a[i]);
      ++j;
    } else {
      run += a[i];
    }
  }
  flush();
  return result;
}

const CONTEXT = 3;

/* The rows of a difference: [kind, line before or null, line after or null]. */
function diffRows(codes, before, after) {
  const rows = [];
  for (const [tag, i1, i2, j1, j2] of codes) {
    if (tag === '=') {
      for (let k = 0; k < i2 - i1; ++k) rows.push(['=', i1 + k, j1 + k]);
      continue;
    }
    const paired = tag === '~' ? Math.min(i2 - i1, j2 - j1) : 0;
    for (let k = 0; k < paired; ++k) rows.push(['~', i1 + k, j1 + k]);
    for (let i = i1 + paired; i < i2; ++i) rows.push(['-', i, null]);
    for (let j = j1 + paired; j < j2; ++j) rows.push(['+', null, j]);
  }
  return rows;
}

function diffView(codes, beforeText, afterText, names) {
  const before = linesOf(beforeText);
  const after = linesOf(afterText);
  const rows = diffRows(codes, before, after);
  const added = rows.filter(([kind]) => kind === '+' || kind === '~').length;
  const removed = rows.filter(([kind]) => kind === '-' || kind === '~').length;
  const wide = window.matchMedia('(min-width: 1250px)').matches;
  const holder = h('div', {});
  const draw = (sideBySide) => {
    holder.replaceChildren(codeBox(`Changes from ${names[0]} to ${names[1]}`,
      foldEqual(rows, (run) => (sideBySide
        ? run.map((row) => pairRow(row, before, after))
        : unifiedRun(run, before, after)))));
    for (const [i, button] of buttons.entries())
      button.setAttribute('aria-pressed', String((i === 1) === sideBySide));
  };
  const buttons = ['Unified', 'Side by side'].map((name, i) =>
    h('button', { type: 'button', on: { click: () => draw(i === 1) } }, name));
  draw(wide);
  return h('div', {},
    h('div', { class: 'tools' },
      h('span', {}, `${names[0]} → ${names[1]}`),
      badge(`+${added}`, 'good'), badge(`−${removed}`, 'bad'),
      h('span', { class: 'space' }),
      h('span', { class: 'segments no-print', role: 'group', 'aria-label': 'Layout' },
        buttons)),
    added + removed ? holder
      : h('p', { class: 'note' }, 'The two texts are the same.'));
}

/* Long runs of equal lines become a button that shows them. */
function foldEqual(rows, render) {
  const result = [];
  let run = [];
  const flush = (isFirst, isLast) => {
    if (!run.length) return;
    const head = isFirst ? 0 : CONTEXT;
    const tail = isLast ? 0 : CONTEXT;
    if (run[0][0] !== '=' || run.length <= head + tail + 4) {
      result.push(render(run));
    } else {
      const middle = run.slice(head, run.length - tail);
      const button = h('button', {
        type: 'button', class: 'skip',
        on: { click: () => button.replaceWith(...render(middle).flat(Infinity)) },
      }, `⋯ ${plural(middle.length, 'equal line')}, show`);
      result.push(render(run.slice(0, head)), button, render(run.slice(run.length - tail)));
    }
    run = [];
  };
  let first = true;
  for (const row of rows) {
    const isEqual = row[0] === '=';
    if (run.length && (run[0][0] === '=') !== isEqual) {
      flush(first, false);
      first = false;
    }
    run.push(row);
  }
  flush(first, true);
  return result;
}

/* One below the other: of a changed block first all that went, then all that came. */
function unifiedRun(run, before, after) {
  const went = [];
  const came = [];
  for (const [kind, i, j] of run) {
    if (kind === '=') {
      came.push(codeLine(j + 1, colour(after[j]), '', ' '));
      continue;
    }
    if (i !== null)
      went.push(codeLine(i + 1, kind === '~' ? marked(before[i], after[j]) : before[i],
        'removed', '−'));
    if (j !== null)
      came.push(codeLine(j + 1, kind === '~' ? marked(after[j], before[i]) : after[j],
        'added', '+'));
  }
  return [...went, ...came];
}

function pairRow([kind, i, j], before, after) {
  if (kind === '=')
    return h('div', { class: 'pair' }, codeLine(i + 1, colour(before[i])),
      codeLine(j + 1, colour(after[j])));
  const left = i === null ? codeLine(null, '', 'none')
    : codeLine(i + 1, kind === '~' ? marked(before[i], after[j]) : before[i], 'removed');
  const right = j === null ? codeLine(null, '', 'none')
    : codeLine(j + 1, kind === '~' ? marked(after[j], before[i]) : after[j], 'added');
  return h('div', { class: 'pair' }, left, right);
}
