/*===- tree.js - Round, idea, variants, what was made of them -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

function makeTree(search) {
  const filter = { words: '', status: 'all' };
  const body = h('div', { class: 'scroll tree' });
  const draw = () => {
    body.replaceChildren(...drawTree(search, filter));
    showSelected({});
  };

  function showSelected(options) {
    for (const row of body.querySelectorAll('.row')) {
      const on = row.getAttribute('data-kind') === state.kind &&
        Number(row.getAttribute('data-index')) === state.index;
      row.setAttribute('aria-current', String(on));
      if (!on) continue;
      for (let node = row.parentElement; node && node !== body; node = node.parentElement)
        if (node.tagName === 'DETAILS') node.open = true;
      if (options.from !== 'tree') scrollWithin(body, row);
    }
  }

  listeners.push(showSelected);
  draw();
  const words = h('input', {
    class: 'field', type: 'search', placeholder: 'Filter ideas',
    'aria-label': 'Filter ideas by words',
    on: {
      input: (event) => {
        filter.words = event.target.value.toLowerCase();
        draw();
      },
    },
  });
  const status = h('select', {
    class: 'select', 'aria-label': 'Which variants',
    on: {
      change: (event) => {
        filter.status = event.target.value;
        draw();
      },
    },
  }, [['all', 'All'], ['passed', 'Passed'], ['failed', 'Failed']].map(
    ([value, name]) => h('option', { value }, name)));
  return h('nav', { class: 'card side', 'aria-label': 'Ideas and variants' },
    h('header', {}, h('h2', {}, 'Ideas'),
      h('span', { class: 'soft' }, plural(search.ideas.length, 'idea'))),
    h('div', { class: 'filters' }, words, status), body);
}

/* Only the tree's own box scrolls, not the page. */
function scrollWithin(box, row) {
  const a = box.getBoundingClientRect();
  const b = row.getBoundingClientRect();
  if (b.top < a.top || b.bottom > a.bottom)
    box.scrollTop += b.top - a.top - a.height / 3;
}

function drawTree(search, filter) {
  const result = [];
  const seeds = search.variants.flatMap((v, i) => (v.how === 'seed' ? [i] : []));
  if (seeds.length)
    result.push(h('details', { class: 'round', open: true },
      h('summary', {}, 'From the bank'),
      h('ul', {}, seeds.map((index) => variantItem(search, index, filter)))));
  for (const round of search.rounds) {
    const ideas = round.ideas.map((index) => ideaItem(search, index, filter))
      .filter(Boolean);
    if (!round.ideas.length) continue;
    const best = round.best === null ? null : search.variants[round.best];
    result.push(h('details', { class: 'round', open: true },
      h('summary', {}, roundName(round.label),
        h('span', { class: 'more' },
          `${plural(round.ideas.length, 'idea')}${best ? `, best ${fmtGain(best.speedup)}` : ''}`)),
      ideas.length ? h('ul', {}, ideas)
        : h('p', { class: 'empty' }, 'Nothing that the filter lets through.')));
  }
  if (!result.length)
    result.push(h('p', { class: 'empty' }, 'No ideas yet.'));
  return result;
}

function passes(filter, variant) {
  if (filter.status === 'passed') return variant.isValid;
  if (filter.status === 'failed')
    return !variant.isValid && variant.status !== 'duplicate' &&
      variant.status !== 'not evaluated';
  return true;
}

function ideaItem(search, index, filter) {
  const idea = search.ideas[index];
  const hasWords = !filter.words ||
    `${idea.title} ${idea.category} ${text(idea.text)} ${idea.id}`.toLowerCase()
      .includes(filter.words);
  if (!hasWords) return null;
  const variants = (idea.variants || []).map((each) =>
    variantItem(search, each, filter)).filter(Boolean);
  if (filter.status !== 'all' && !variants.length) return null;
  const notes = [];
  if (idea.variants === null) notes.push('not realised yet');
  else if (!idea.variants.length) notes.push('no variant came of it');
  const replies = idea.replies.map((each) => exchangeRow(search, each));
  return h('li', { class: 'idea', 'data-cat': idea.category },
    h('button', {
      type: 'button', class: 'row', 'data-kind': 'idea', 'data-index': index,
      on: { click: () => select('idea', index, { from: 'tree' }) },
    }, swatch(), h('span', { class: 'idea-title' }, idea.title)),
    h('ul', {}, variants, replies,
      notes.map((note) => h('li', { class: 'empty' }, note))));
}

/* A reply of which nothing became. */
function exchangeRow(search, index) {
  const exchange = search.exchanges[index];
  return h('li', {},
    h('button', {
      type: 'button', class: 'row variant', 'data-kind': 'exchange', 'data-index': index,
      on: { click: () => select('exchange', index, { from: 'tree' }) },
    }, mark(exchange.status === 'complete' ? 'not evaluated' : exchange.status),
    h('span', { class: 'what' },
      `${exchange.status} reply, nothing came of it`)));
}

function variantItem(search, index, filter) {
  const v = search.variants[index];
  const children = v.children.map((each) => variantItem(search, each, filter))
    .filter(Boolean);
  if (!passes(filter, v) && !children.length) return null;
  const shown = v.isValid && v.seconds > 0
    ? h('span', { class: 'time' }, fmtTime(v.seconds))
    : h('span', { class: 'time' }, v.status);
  const tags = [v.how === 'neighbours' ? 'tuned' : HOW[v.how],
    v.how === 'realise' ? LANGUAGES[v.language] || v.language : '', ownNumbers(search, v)]
    .filter(Boolean).join(' · ');
  return h('li', { class: v.how === 'repair' || v.how === 'neighbours' ? 'child' : '' },
    h('button', {
      type: 'button', class: 'row variant', 'data-kind': 'variant', 'data-index': index,
      title: v.isValid ? false : v.reason.slice(0, 300),
      on: { click: () => select('variant', index, { from: 'tree' }) },
    },
    mark(v.status), shown, h('span', { class: 'what' }, tags),
    h('span', { class: 'gain' },
      index === search.winner ? badge('winner', 'good') : null,
      v.speedup > 0 ? ` ${fmtGain(v.speedup)}` : '')),
    children.length ? h('ul', {}, children) : null);
}
