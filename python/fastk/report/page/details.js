/*===- details.js - What is selected, from prompt to lowering -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

function makeDetails(search) {
  const holder = h('section', { class: 'card details order-details', 'aria-label': 'Selected' });
  const show = (options) => {
    const view = {
      variant: () => variantDetails(search, state.index),
      idea: () => ideaDetails(search, state.index),
      exchange: () => exchangeDetails(search, state.index),
    }[state.kind];
    holder.replaceChildren(...(view ? view() : [
      h('header', {}, h('h2', {}, 'Nothing is selected')),
      h('div', { class: 'panel soft' }, 'Choose a variant in the tree or in the chart.')]));
    if (!options || !options.from || options.from === 'start') return;
    /* On a narrow page what was chosen is elsewhere. */
    const isNarrow = window.matchMedia('(max-width: 960px)').matches;
    if (isNarrow && options.from !== 'details') holder.scrollIntoView({ block: 'start' });
    if (options.from === 'details') {
      const heading = holder.querySelector('h2');
      if (heading) heading.focus({ preventScroll: !isNarrow });
    }
  };
  listeners.push(show);
  show();
  return holder;
}

const go = (kind, index, tab) => () => select(kind, index, { from: 'details', tab });

function variantLink(search, index) {
  const v = search.variants[index];
  return h('button', { type: 'button', class: 'link', on: { click: go('variant', index) } },
    `${nameOf(v)} (${v.isValid && v.seconds > 0 ? fmtTime(v.seconds) : v.status})`);
}

/* Tabs by the pattern that screen readers know; only one panel exists at a time. */
function tabbed(tabs, wanted) {
  const present = tabs.filter((tab) => tab);
  const panel = h('div', { class: 'panel', role: 'tabpanel', id: 'panel', tabindex: '-1' });
  const buttons = present.map((tab) => h('button', {
    type: 'button', role: 'tab', id: `tab-${tab.id}`, 'aria-controls': 'panel',
    on: { click: () => open(tab) },
  }, tab.name));
  const open = (tab) => {
    state.tab = tab.id;
    for (const [i, button] of buttons.entries()) {
      const on = present[i] === tab;
      button.setAttribute('aria-selected', String(on));
      button.setAttribute('tabindex', on ? '0' : '-1');
    }
    panel.setAttribute('aria-labelledby', `tab-${tab.id}`);
    panel.replaceChildren(tab.view());
    rememberPlace();
  };
  open(present.find((tab) => tab.id === wanted) || present[0]);
  roving(() => buttons, { next: ['ArrowRight'], back: ['ArrowLeft'] });
  for (const [i, button] of buttons.entries())
    button.addEventListener('focus', () => {
      if (state.tab !== present[i].id) open(present[i]);
    });
  return [h('div', { class: 'tabs', role: 'tablist' }, buttons), panel];
}

/* The variants that this one was made from within its idea, first to last. */
function ancestry(search, index) {
  const chain = [index];
  for (let v = search.variants[index];
    (v.how === 'repair' || v.how === 'neighbours') && v.parent !== null &&
      !chain.includes(v.parent);
    v = search.variants[v.parent])
    chain.unshift(v.parent);
  return chain;
}

function step(label, title, kind, click, isCurrent) {
  return h('li', {}, click
    ? h('button', { type: 'button', class: `step ${kind || ''}`, title,
      'aria-current': isCurrent ? 'true' : false, on: { click } }, label)
    : h('span', { class: `step ${kind || ''}`, title }, label));
}

function ideaSteps(search, index, isCurrent) {
  const idea = search.ideas[index];
  const steps = [];
  if (idea.exchange !== null)
    steps.push(step('Prompt for ideas', 'What was asked, and the reply', '',
      go('exchange', idea.exchange)));
  steps.push(step(`Idea: ${idea.title}`, idea.title, '', go('idea', index), isCurrent));
  return steps;
}

function way(search, index) {
  const v = search.variants[index];
  const steps = v.idea === null ? [] : ideaSteps(search, v.idea);
  for (const each of ancestry(search, index)) {
    const made = search.variants[each];
    if (made.exchange !== null)
      steps.push(step(made.how === 'repair' ? 'Prompt to mend it' : 'Prompt for a program',
        'What was asked, and the reply', '',
        go(each === index ? 'variant' : 'exchange',
          each === index ? index : made.exchange, 'talk')));
    steps.push(step(
      `${made.how === 'neighbours' ? 'Tuned' : made.how === 'repair' ? 'Mended' : 'Variant'} ` +
        `${nameOf(made)}: ${made.isValid && made.seconds > 0 ? fmtTime(made.seconds) : made.status}`,
      made.reason.slice(0, 300), look(made.status)[0] === 'bad' ? 'bad' : '',
      go('variant', each), each === index));
  }
  if (v.promotion) {
    const won = index === search.winner;
    steps.push(step(won ? 'Lowering: measured again and kept' : 'Second measurement failed',
      v.promotion.reason, won ? 'good' : 'bad', go('variant', index, 'second')));
  }
  return h('ol', { class: 'way', 'aria-label': 'From prompt to lowering' }, steps);
}

function variantDetails(search, index) {
  const v = search.variants[index];
  const idea = ideaOf(v);
  const source = talkSource(search, index);
  const head = h('header', {},
    h('div', { class: 'over', 'data-cat': categoryOf(v) },
      statusBadge(v.status),
      index === search.winner ? badge('winner', 'good') : null,
      index !== search.winner && index === search.best ? badge('best so far', 'accent') : null,
      HOW[v.how] ? badge(HOW[v.how]) : null,
      idea ? [swatch(), h('span', { class: 'soft' }, idea.category)] : null,
      h('span', { class: 'soft' }, v.round ? roundName(v.round) : '')),
    h('h2', { tabindex: '-1' }, titleOf(v)),
    h('div', { class: 'numbers' }, variantNumbers(search, v)));
  const tabs = [
    { id: 'verdict', name: 'Verdict', view: () => verdictPanel(search, v) },
    v.promotion && { id: 'second', name: 'Second measurement',
      view: () => secondPanel(search, index) },
    { id: 'program', name: 'Program', view: () => programPanel(v) },
    v.parentDigest && { id: 'changes', name: 'Changes', view: () => changesPanel(search, v) },
    v.plan !== null && { id: 'plan', name: 'Plan', view: () =>
      codeView(text(v.plan), 'Plan', 'How it is launched') },
    source && { id: 'talk', name: 'Prompt and reply', view: () => talkPanel(search, source, v) },
    idea && { id: 'idea', name: 'Idea', view: () => ideaPanel(search, v.idea) },
  ];
  return [head, way(search, index), ...tabbed(tabs, state.tab)];
}

function variantNumbers(search, v) {
  const number = (name, value) => h('span', {}, `${name} `, h('b', {}, value));
  return [
    v.seconds > 0 ? number('time', fmtTime(v.seconds)) : null,
    v.speedup > 0 ? number('speed-up', fmtGain(v.speedup)) : null,
    v.floorShare ? number('of floor', fmtShare(v.floorShare)) : null,
    v.verdict && v.isValid ? number('precision', v.verdict.precision) : null,
    number('language', LANGUAGES[v.language] || v.language || 'unknown'),
    v.workspace ? number('workspace', `${fmtCount(v.workspace)} B`) : null,
    v.parameters.length ? number('numbers', parameterText(v)) : null,
    h('span', { class: 'mono' }, nameOf(v)),
  ];
}

function verdictPanel(search, v) {
  const nodes = [];
  if (v.problem) nodes.push(h('p', { class: 'callout bad' }, v.problem));
  if (v.duplicateOf !== null)
    nodes.push(h('p', { class: 'callout' },
      'The same program was proposed before and is not evaluated again: ',
      variantLink(search, v.duplicateOf)));
  if (v.verdict) nodes.push(verdictView(v.verdict));
  else if (!v.problem && v.duplicateOf === null)
    nodes.push(h('p', { class: 'callout' },
      'It was not evaluated: the search has not come to it, ended before, or left it.'));
  if (v.children.length)
    nodes.push(h('h3', {}, 'Made from it'), h('ul', {}, v.children.map((each) =>
      h('li', {}, `${HOW[search.variants[each].how]} `, variantLink(search, each)))));
  return h('div', {}, nodes);
}

function secondPanel(search, index) {
  const failed = search.failedPromotions.find(([each]) => each === index);
  return h('div', {},
    h('p', { class: 'note' },
      'The would-be winner once more, in a fresh process on fresh data. Only this counts.'),
    failed ? h('p', { class: 'callout bad' }, failed[1]) : null,
    verdictView(search.variants[index].promotion));
}

function programPanel(v) {
  if (v.program === null)
    return h('p', { class: 'note' }, v.problem ? 'There is no program.'
      : 'The program is not in this journal: the search began with a winner of the bank.');
  return codeView(text(v.program), 'Program', v.problem
    ? 'The reply as it came: it could not be used as a program.'
    : h('span', { class: 'mono' }, `SHA-256 ${v.programDigest.slice(0, 16)}`));
}

function changesPanel(search, v) {
  const parent = v.parent === null ? null : search.variants[v.parent];
  if (!parent || (parent.program === null && !parent.problem))
    return h('p', { class: 'note' },
      `The program of its parent ${v.parentDigest.slice(0, 8)} is not in this journal.`);
  const names = [`parent ${nameOf(parent)}`, nameOf(v)];
  const nodes = [h('p', { class: 'tools' }, 'Made from ', variantLink(search, v.parent),
    h('span', {}, titleOf(parent)))];
  if (v.changes) nodes.push(diffView(v.changes, text(parent.program), text(v.program), names));
  else nodes.push(h('p', { class: 'note' }, parent.problem
    ? `That was no program: ${parent.problem}` : 'There is no program to compare.'));
  if (v.planChanges)
    nodes.push(h('h3', {}, 'Plan'),
      diffView(v.planChanges, text(parent.plan), text(v.plan), names));
  return h('div', {}, nodes);
}

/* The variant whose exchange gave this program: itself, or what it was tuned from. */
function talkSource(search, index) {
  for (const each of ancestry(search, index).reverse()) {
    const v = search.variants[each];
    if (v.exchange !== null) return v;
    if (v.how !== 'neighbours') return null;
  }
  return null;
}

function talkPanel(search, source, v) {
  return h('div', {},
    source === v ? null : h('p', { class: 'callout' },
      'Its numbers were changed by plain search, without a model. The program itself came from ',
      variantLink(search, search.variants.indexOf(source)), '.'),
    exchangeView(search.exchanges[source.exchange]));
}

function ideaPanel(search, index) {
  const idea = search.ideas[index];
  return h('div', {},
    h('p', { class: 'prose' }, text(idea.text)),
    idea.parent !== null ? h('p', { class: 'note' }, 'Builds on ',
      variantLink(search, idea.parent), ` ${titleOf(search.variants[idea.parent])}`)
      : idea.parentDigest ? h('p', { class: 'note' },
        `Builds on ${idea.parentDigest.slice(0, 8)}, which is not in this journal.`) : null,
    h('p', { class: 'note mono' }, idea.id));
}

function ideaDetails(search, index) {
  const idea = search.ideas[index];
  const variants = idea.variants || [];
  const tabs = [
    { id: 'idea', name: 'Idea', view: () => h('div', {}, ideaPanel(search, index),
      variants.length ? [h('h3', {}, 'Variants'), h('ul', {}, variants.map((each) =>
        h('li', {}, mark(search.variants[each].status), ' ', variantLink(search, each))))]
        : null) },
    idea.exchange !== null && { id: 'talk', name: 'Prompt and reply',
      view: () => exchangeView(search.exchanges[idea.exchange]) },
  ];
  return [
    h('header', {},
      h('div', { class: 'over', 'data-cat': idea.category }, badge('idea', 'accent'), swatch(),
        h('span', { class: 'soft' }, idea.category),
        h('span', { class: 'soft' }, roundName(idea.round))),
      h('h2', { tabindex: '-1' }, idea.title)),
    h('ol', { class: 'way', 'aria-label': 'From prompt to variants' },
      ideaSteps(search, index, true),
      variants.map((each) => {
        const v = search.variants[each];
        return step(`${nameOf(v)}: ${v.isValid && v.seconds > 0 ? fmtTime(v.seconds) : v.status}`,
          '', look(v.status)[0] === 'bad' ? 'bad' : '', go('variant', each));
      }).slice(0, 3)),
    ...tabbed(tabs, state.tab)];
}

function exchangeDetails(search, index) {
  const exchange = search.exchanges[index];
  const became = [
    ...exchange.ideas.map((each) => h('li', {}, 'idea ',
      h('button', { type: 'button', class: 'link', on: { click: go('idea', each) } },
        search.ideas[each].title))),
    ...exchange.variants.map((each) => h('li', {}, 'variant ', variantLink(search, each))),
  ];
  return [
    h('header', {},
      h('div', { class: 'over' }, badge('exchange', 'accent'), replyBadge(exchange),
        h('span', { class: 'soft' }, `${exchange.kind}, ${roundName(exchange.round)}`)),
      h('h2', { tabindex: '-1' }, exchange.name)),
    h('div', { class: 'panel' }, exchangeView(exchange),
      h('h3', {}, 'What became of it'),
      became.length ? h('ul', {}, became)
        : h('p', { class: 'note' }, 'Nothing that the journal shows.',
          exchange.about === null ? null : [' It was about ',
            h('button', { type: 'button', class: 'link',
              on: { click: go('idea', exchange.about) } },
            search.ideas[exchange.about].title), '.']))];
}
