/*===- main.js - The page -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

function makeTiles(search) {
  const best = search.winner ?? search.best;
  const v = best === null ? null : search.variants[best];
  const measured = v && v.promotion && best === search.winner ? v.promotion : null;
  const seconds = measured ? measured.seconds : v ? v.seconds : 0;
  const ratio = measured
    ? measured.ratios.find((each) => each[0] === 'over the default lowering') : null;
  const beside = measured
    ? measured.times.find((each) => each[0] === 'baseline') : null;
  const baseline = beside ? beside[1].median_ns * 1e-9 : v ? v.baseline : search.baseline;
  const total = search.total;
  const tile = (name, value, more) => h('div', { class: 'tile' }, h('dt', {}, name),
    h('dd', {}, value, more ? h('div', { class: 'more' }, more) : null));
  const tiles = [
    tile(measured ? 'Winner' : 'Best so far', fmtTime(seconds),
      baseline > 0 ? `default lowering ${fmtTime(baseline)} beside it` : ''),
    tile('Speed-up', fmtGain(ratio ? ratio[1] : v ? v.speedup : 0),
      ratio ? `${ratio[2].toFixed(2)} to ${ratio[3].toFixed(2)}, over the default lowering`
        : 'over the default lowering'),
    tile('Of the floor', fmtShare(search.floor && seconds ? search.floor / seconds : 0),
      search.floor ? `floor ${fmtTime(search.floor)}` : 'floor unknown'),
    tile('Found in', search.foundIn ? roundName(search.foundIn) : DASH,
      `of ${plural(search.rounds.filter((each) => each.ideas.length).length, 'round')}`),
    tile('Valid variants', total.judged
      ? `${((100 * total.valid) / total.judged).toFixed(0)} %` : DASH,
    `${fmtCount(total.valid)} of ${fmtCount(total.judged)}`),
    tile('Searched', fmtDuration(search.elapsed), plural(total.evaluations, 'evaluation')),
  ];
  if (total.exchanges)
    tiles.push(tile('Models', total.usd === null
      ? `${total.estimated ? '≈ ' : ''}${fmtCount(total.input + total.output)}`
      : fmtUsd(total.usd),
    `${total.usd === null ? 'tokens, ' : `${fmtCount(total.input + total.output)} tokens, `}` +
      plural(total.exchanges, 'exchange')));
  return h('dl', { class: 'tiles' }, tiles);
}

function makeHead(search) {
  const machine = Object.fromEntries(search.settings).machine;
  return h('div', {},
    h('div', { class: 'head' },
      h('h1', {}, search.title, ' ',
        search.shapes ? h('span', { class: 'shapes' }, search.shapes) : null),
      h('span', { class: 'facts' },
        [search.target, `${search.precision} accepted`, machine, `key ${search.key.slice(0, 8)}`]
          .filter(Boolean).join(' · '))),
    h('p', { class: 'standing' },
      search.winner === null ? badge('no winner', 'warn') : badge('winner', 'good'), ' ',
      search.standing.replace(/^(winner|no winner[^:]*): /, ''),
      search.end ? h('span', { class: 'soft' },
        ` Ended by ${search.end}${search.endDetail ? `: ${search.endDetail}` : ''}.`) : null),
    search.notes.map((note) => h('p', { class: 'callout' }, note)));
}

/* The address names what is shown, so that it can be sent. */
function rememberPlace() {
  const parts = [DATA.searches.indexOf(state.search), state.kind, state.index, state.tab];
  try {
    history.replaceState(null, '', `#${parts.join('/')}`);
  } catch {
    /* Some viewers have no address. */
  }
}

function readPlace() {
  const [search, kind, index, tab] = location.hash.slice(1).split('/');
  const chosen = DATA.searches[Number(search)] || DATA.searches[0];
  const list = { variant: 'variants', idea: 'ideas', exchange: 'exchanges' }[kind];
  if (list && chosen[list][Number(index)])
    return { search: chosen, kind, index: Number(index), tab };
  const best = chosen.winner ?? chosen.best ?? (chosen.variants.length ? 0 : null);
  return { search: chosen, kind: best === null ? '' : 'variant', index: best ?? -1, tab: '' };
}

function themeButton() {
  const root = document.documentElement;
  const set = (theme) => root.setAttribute('data-theme', theme);
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  set(system.matches ? 'dark' : 'light');
  const follow = () => set(system.matches ? 'dark' : 'light');
  system.addEventListener('change', follow);
  return h('button', {
    type: 'button', class: 'button no-print',
    on: {
      click: () => {
        system.removeEventListener('change', follow);
        set(root.getAttribute('data-theme') === 'dark' ? 'light' : 'dark');
      },
    },
  }, 'Light or dark');
}

function picker(show) {
  if (DATA.searches.length < 2) return null;
  return h('label', {}, h('span', { class: 'sr' }, 'Workload '),
    h('select', {
      class: 'select',
      on: { change: (event) => show({ search: DATA.searches[Number(event.target.value)] }) },
    }, DATA.searches.map((each, i) => h('option', {
      value: i, selected: each === state.search,
    }, `${each.title} ${each.shapes} · ${each.precision} · ${each.key.slice(0, 8)}`))));
}

function start() {
  const app = document.getElementById('app');
  const holder = h('main', { class: 'page' });
  const show = (place) => {
    const search = place.search;
    listeners.length = 0;
    Object.assign(state, { search, kind: '', index: -1, tab: place.tab || '' });
    const best = search.winner ?? search.best;
    state.kind = place.kind ?? (best === null ? '' : 'variant');
    state.index = place.index ?? best ?? -1;
    const tree = makeTree(search);
    const details = makeDetails(search);
    holder.replaceChildren(makeHead(search), makeTiles(search),
      h('div', { class: 'work' }, tree,
        h('div', { class: 'main' }, makeChart(search), details)),
      h('div', { class: 'tables' }, makeTables(search)));
    listeners.push(rememberPlace);
  };
  const place = readPlace();
  state.search = place.search;
  app.append(
    h('header', { class: 'bar' },
      h('span', { class: 'brand' }, 'fastk ', h('span', {}, 'search report')),
      h('span', { class: 'space' }), picker(show), themeButton()),
    holder);
  show(place);
}

start();
