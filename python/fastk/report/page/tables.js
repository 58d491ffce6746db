/*===- tables.js - Rounds and costs, failures, exchanges, settings -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

function makeTables(search) {
  return [roundsCard(search), failuresCard(search), exchangesCard(search),
    settingsCard(search)].filter(Boolean);
}

const card = (title, ...children) =>
  h('section', { class: 'card', 'aria-label': title },
    h('header', {}, h('h2', {}, title)), h('div', { class: 'body' }, children));

function validCell(each) {
  if (!each.judged) return DASH;
  const bar = h('i', { css: { width: `${(100 * each.valid) / each.judged}%` } });
  return [`${each.valid}/${each.judged}`, h('span', { class: 'share', 'aria-hidden': 'true' }, bar)];
}

function roundsCard(search) {
  const hasModels = search.total.exchanges > 0;
  const hasPrices = search.total.usd !== null;
  const head = ['Round', 'Best', 'Speed-up', 'Of floor', 'Idea', 'Evaluations', 'Valid', 'Time'];
  if (hasModels) head.push('Tokens in', 'Tokens out');
  if (hasPrices) head.push('Cost');
  const right = [1, 2, 3, 5, 6, 7, 8, 9, 10];
  const costs = (each) => [
    fmtCount(each.evaluations), validCell(each), fmtDuration(each.seconds),
    ...(hasModels ? [fmtCount(each.input), fmtCount(each.output)] : []),
    ...(hasPrices ? [fmtUsd(each.usd)] : [])];
  const rowOf = (label) => search.trajectory.find((row) => row.label === label);
  const best = (row) => {
    if (!row || !(row.seconds > 0)) return [DASH, DASH, DASH, row ? 'nothing passed' : ''];
    const share = search.floor ? search.floor / row.seconds : 0;
    const idea = row.variant === null ? 'default lowering' : h('button', {
      type: 'button', class: 'link', on: { click: go('variant', row.variant) },
    }, titleOf(search.variants[row.variant]));
    return [fmtTime(row.seconds), fmtGain(row.speedup), fmtShare(share), idea];
  };
  const start = rowOf('0');
  const rows = start && start.seconds > 0
    ? [[roundName('0'), ...best(start), '', '', '',
      ...(hasModels ? ['', ''] : []), ...(hasPrices ? [''] : [])]] : [];
  for (const round of search.rounds)
    rows.push([
      [roundName(round.label),
        round.label === search.foundIn
          ? [' ', badge(search.winner === null ? 'best found' : 'winner found', 'good')] : ''],
      ...best(rowOf(round.label)), ...costs(round)]);
  rows.push({ kind: 'sum', cells: ['All', '', '', '', '', ...costs(search.total)] });
  const notes = ['Speed-ups are over the default lowering, timed beside each variant: rows ' +
    'compare by them, not by time.'];
  if (search.total.unpriced && hasPrices)
    notes.push(`${plural(search.total.unpriced, 'exchange')} without a known price ` +
      'are not in the cost.');
  if (search.total.estimated) notes.push('Some tokens are estimated from the texts.');
  return card('Rounds and their cost', table(head, rows, right, 4),
    h('p', { class: 'note' }, notes.join(' ')));
}

function failuresCard(search) {
  if (!search.failures.length) return null;
  const rows = search.failures.map((kind) => [
    badge(kind.status, 'bad'), fmtCount(kind.count),
    h('ul', {}, kind.reasons.map(([reason, count]) =>
      h('li', {}, reason || 'no reason given',
        kind.reasons.length > 1 ? h('span', { class: 'soft' }, ` (${count})`) : null))),
    failedLinks(search, kind)]);
  return card('Kinds of failure',
    table(['Kind', 'Count', 'Reasons, numbers left out', 'Where'], rows, [1], 2));
}

function failedLinks(search, kind) {
  const links = [
    ...kind.variants.map((each) => [go('variant', each, 'verdict'),
      nameOf(search.variants[each])]),
    ...kind.exchanges.map((each) => [go('exchange', each), search.exchanges[each].name]),
  ].map(([click, name]) =>
    h('button', { type: 'button', class: 'link mono', on: { click } }, name));
  const shown = links.slice(0, 6).flatMap((link, i) => (i ? [', ', link] : [link]));
  return h('span', {}, shown,
    links.length > 6 ? ` and ${links.length - 6} more` : '');
}

function exchangesCard(search) {
  if (!search.exchanges.length) return null;
  const rows = search.exchanges.map((each, index) => [
    h('button', { type: 'button', class: 'link', on: { click: go('exchange', index) } },
      each.name),
    each.model, each.kind, replyBadge(each), fmtCount(each.usage.input_tokens),
    fmtCount(each.usage.output_tokens), fmtDuration(each.usage.seconds),
    fmtUsd(each.usage.usd)]);
  return h('details', { class: 'card fold' },
    h('summary', {}, `All ${plural(search.exchanges.length, 'exchange')} with models`),
    h('div', { class: 'body' }, table(
      ['Prompt', 'Model', 'Kind', 'Reply', 'Tokens in', 'Tokens out', 'Time', 'Cost'],
      rows, [4, 5, 6, 7])));
}

function settingsCard(search) {
  return h('details', { class: 'card fold' },
    h('summary', {}, 'Workload and settings'),
    h('div', { class: 'body' },
      h('dl', { class: 'pairs' },
        search.settings.map(([name, value]) => [h('dt', {}, name),
          h('dd', { class: value.length > 40 ? 'mono' : '' }, value)])),
      search.known.length ? [h('h3', {}, 'What banks knew of similar workloads'),
        h('ul', {}, search.known.map(([title, told]) => h('li', {}, h('b', {}, title),
          h('div', { class: 'prose soft' }, told))))] : null,
      search.ir === null ? null : [h('h3', {}, 'The workload'),
        codeView(text(search.ir), 'The workload', '')]));
}
