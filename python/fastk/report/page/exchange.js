/*===- exchange.js - A prompt and its reply -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

/* Text with its headings and fenced blocks set off; every character stays. */
function talkText(source) {
  const nodes = [];
  let block = null;
  for (const line of linesOf(source)) {
    if (/^\s*(```|~~~)/.test(line)) {
      if (block) {
        block.append(line);
        block = null;
      } else {
        block = h('div', { class: 'fence' }, `${line}\n`);
        nodes.push(block);
      }
      continue;
    }
    if (block) block.append(...colour(line), '\n');
    else if (/^#{1,6} /.test(line)) nodes.push(h('span', { class: 'heading' }, line), '\n');
    else nodes.push(`${line}\n`);
  }
  return h('div', { class: 'text', role: 'region', tabindex: '0' }, nodes);
}

/* A folded text; its nodes are made when it is opened. */
function talk(name, source, isOpen, facts) {
  if (!source) return null;
  const box = h('details', { class: 'talk' },
    h('summary', {}, h('b', {}, name), facts,
      h('span', { class: 'soft number' }, plural(source.length, 'character'))));
  const open = () => {
    if (box.open && box.childElementCount === 1) box.append(talkText(source));
  };
  box.addEventListener('toggle', open);
  if (isOpen) {
    box.open = true;
    open();
  }
  return box;
}

/* A reply by a schema is one JSON object, often in one line. */
function replyText(exchange) {
  const source = text(exchange.reply);
  try {
    return exchange.kind === 'ideas' ? JSON.stringify(JSON.parse(source), null, 2) : source;
  } catch {
    return source;
  }
}

function usageText(exchange) {
  const usage = exchange.usage;
  const about = usage.estimated ? 'about ' : '';
  return [`${about}${fmtCount(usage.input_tokens)} tokens in` +
      (usage.cached_tokens ? ` (${fmtCount(usage.cached_tokens)} cached)` : ''),
    `${fmtCount(usage.output_tokens)} out` +
      (usage.reasoning_tokens ? ` (${fmtCount(usage.reasoning_tokens)} reasoning)` : ''),
    usage.seconds ? fmtDuration(usage.seconds) : '',
    usage.usd === null ? '' : fmtUsd(usage.usd),
    usage.attempts > 1 ? plural(usage.attempts, 'attempt') : '']
    .filter(Boolean).join(' · ');
}

function replyBadge(exchange) {
  const kind = { complete: 'good', truncated: 'warn' }[exchange.status] || 'bad';
  return badge(exchange.status, kind);
}

/* Prompt and reply, whole. */
function exchangeView(exchange) {
  const problem = exchange.problem || (exchange.failure !== 'none' ? exchange.failure : '');
  return h('div', {},
    h('div', { class: 'numbers' },
      h('span', {}, 'asked ', h('b', {}, exchange.model)),
      h('span', {}, usageText(exchange))),
    problem ? h('p', { class: 'callout bad' }, problem) : null,
    talk('Prompt: what all prompts of this kind have in common', text(exchange.system), false),
    talk('Prompt', text(exchange.user), true),
    talk('Schema of the reply', text(exchange.schema), false),
    exchange.reply === null
      ? h('p', { class: 'note' }, 'The reply holds no text.')
      : talk('Reply', replyText(exchange), true, replyBadge(exchange)),
    h('p', { class: 'note mono' }, `prompt ${exchange.digest.slice(0, 16)}` +
      (exchange.sample ? `, sample ${exchange.sample}` : '') +
      (exchange.templates ? `, templates ${exchange.templates.slice(0, 12)}` : '')));
}
