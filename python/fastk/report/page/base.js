/*===- base.js - Nodes, and what is selected -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

const DATA = JSON.parse(document.getElementById('data').textContent);
const TEXTS = DATA.texts;
const SVG = 'http://www.w3.org/2000/svg';

/* Foreign text only ever becomes text nodes and attribute values that hold no code:
 * there is no way from a string to markup in this script. */
function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, call] of Object.entries(value))
        node.addEventListener(event, call);
    } else if (name === 'css') {
      for (const [key, text] of Object.entries(value))
        node.style.setProperty(key, text);
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : String(child));
  return node;
}

const h = (tag, props, ...children) =>
  fill(document.createElement(tag), props, children);
const svg = (tag, props, ...children) =>
  fill(document.createElementNS(SVG, tag), props, children);
const text = (index) => (index === null || index === undefined ? '' : TEXTS[index]);

/* The search that is shown, what of it is selected, and who wants to know. */
const state = { search: null, kind: '', index: -1, tab: '' };
const listeners = [];

function select(kind, index, options) {
  const changed = state.kind !== kind || state.index !== index;
  state.kind = kind;
  state.index = index;
  if (options && options.tab) state.tab = options.tab;
  if (changed || (options && options.tab))
    for (const listener of listeners) listener(options || {});
}

const selectedVariant = () =>
  state.kind === 'variant' ? state.search.variants[state.index] : null;

/* Moves between items with the arrow keys: one tab stop for all of them. */
function roving(items, keys) {
  const focusable = items();
  const go = (event, position) => {
    event.preventDefault();
    const list = items();
    const target = list[Math.max(0, Math.min(list.length - 1, position))];
    if (!target) return;
    for (const each of list) each.setAttribute('tabindex', '-1');
    target.setAttribute('tabindex', '0');
    target.focus();
  };
  for (const item of focusable)
    item.addEventListener('keydown', (event) => {
      const at = items().indexOf(item);
      if (keys.next.includes(event.key)) go(event, at + 1);
      else if (keys.back.includes(event.key)) go(event, at - 1);
      else if (event.key === 'Home') go(event, 0);
      else if (event.key === 'End') go(event, items().length - 1);
    });
}
