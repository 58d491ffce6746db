/*===- chart.js - Time and share of the floor, variant by variant -===*
 *
 * Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===-------------------------------------------------------------------===*/

/* Every variant that was tried is a dot, in the order of trying; what did not pass is
 * in a lane of its own above. Times are on a logarithmic scale, on which the share of
 * the floor is the same axis read the other way. */
function makeChart(search) {
  const modes = [
    ['time', 'Time'],
    ['gain', 'Speed-up'],
  ];
  const chart = { mode: 'time', hidden: new Set() };
  const holder = h('div', { class: 'chart' });
  const tip = h('div', { class: 'tip', role: 'tooltip', hidden: true });
  const bands = bandsOf(search);
  const points = bands.flatMap((band) => band.points);

  const buttons = modes.map(([mode, name]) =>
    h('button', {
      type: 'button',
      'aria-pressed': String(mode === chart.mode),
      on: {
        click: () => {
          chart.mode = mode;
          for (const [i, button] of buttons.entries())
            button.setAttribute('aria-pressed', String(modes[i][0] === mode));
          draw();
        },
      },
    }, name));

  function draw() {
    const width = Math.max(300, holder.clientWidth - 16);
    holder.replaceChildren(
      points.length
        ? drawChart(search, chart, bands, width, tip, holder)
        : h('p', { class: 'note' }, 'Nothing has been tried yet.'),
      tip);
    tip.hidden = true;
    showSelected();
  }

  function showSelected() {
    for (const dot of holder.querySelectorAll('.dot')) {
      const on = state.kind === 'variant' &&
        Number(dot.getAttribute('data-index')) === state.index;
      dot.classList.toggle('selected', on);
    }
  }

  listeners.push(showSelected);
  /* In the next frame: drawing changes the size that is observed. */
  new ResizeObserver(() => requestAnimationFrame(() => {
    const width = holder.clientWidth;
    if (width && width !== chart.width) {
      chart.width = width;
      draw();
    }
  })).observe(holder);

  return h('section', { class: 'card order-chart', 'aria-label': 'Trajectory' },
    h('header', {}, h('h2', {}, 'Trajectory'),
      h('span', { class: 'segments', role: 'group', 'aria-label': 'Vertical axis' },
        buttons)),
    holder,
    legend(search, chart, draw));
}

/* The rounds with their points: variants, in the end the second measurements. */
function bandsOf(search) {
  const bands = [];
  for (const round of search.rounds) {
    const points = [...round.tried, ...round.unreadable].map((index) => {
      const v = search.variants[index];
      return { index, v, status: v.status, seconds: v.seconds, gain: v.speedup,
        isValid: v.isValid && v.seconds > 0, isSecond: false };
    });
    if (points.length) bands.push({ label: round.label, points });
  }
  const seconds = search.failedPromotions.map(([index]) => index);
  if (search.winner !== null) seconds.push(search.winner);
  if (seconds.length)
    bands.push({
      label: 'promoted',
      points: seconds.map((index) => {
        const v = search.variants[index];
        const p = v.promotion;
        const ratio = p.ratios.find((each) => each[0] === 'over the default lowering');
        return { index, v, status: p.status, seconds: p.seconds,
          gain: ratio ? ratio[1] : 0, isValid: p.isValid && p.seconds > 0,
          isSecond: true, isWinner: index === search.winner };
      }),
    });
  return bands;
}

function legend(search, chart, draw) {
  const used = CATEGORIES.filter((each) =>
    search.ideas.some((idea) => idea.category === each));
  const buttons = used.map((category) =>
    h('button', {
      type: 'button', 'data-cat': category, 'aria-pressed': 'true',
      on: {
        click: (event) => {
          const off = !chart.hidden.delete(category);
          if (off) chart.hidden.add(category);
          event.currentTarget.setAttribute('aria-pressed', String(!off));
          draw();
        },
      },
    }, swatch(), category));
  return h('div', { class: 'legend' }, buttons,
    h('span', { class: 'shapes' },
      '● passed   ○ slow   ✕ failed   ◆ second measurement   ━ best so far'));
}

function drawChart(search, chart, bands, width, tip, holder) {
  const narrow = width < 560;
  const height = narrow ? 270 : 320;
  const isTime = chart.mode === 'time';
  const valueOf = (p) => (isTime ? p.seconds : p.gain);
  const box = {
    left: narrow ? 50 : 62,
    right: width - (isTime && search.floor ? (narrow ? 44 : 58) : 14),
    top: 54,
    bottom: height - 22,
  };
  const laneY = 36;
  const scale = makeScale(search, bands, box, isTime, valueOf);
  const count = bands.reduce((sum, band) => sum + band.points.length, 0);
  const gaps = bands.length;
  const step = (box.right - box.left) / (count + gaps * 0.9);
  const root = svg('svg', {
    viewBox: `0 0 ${width} ${height}`, height, role: 'group',
    'aria-label': `Variants in the order of trying, by ${isTime ? 'time' : 'speed-up'}. ` +
      'Arrow keys move, Enter selects.',
  });

  let x = box.left;
  const line = [];
  const dots = [];
  let best = null;
  for (const [number, band] of bands.entries()) {
    const from = x;
    x += step * 0.45;
    for (const point of band.points) {
      point.x = x + step / 2;
      x += step;
    }
    x += step * 0.45;
    if (number % 2 === 0)
      root.append(svg('rect', { class: 'band', x: from, y: 18, width: x - from,
        height: box.bottom - 18 }));
    const short = band.label === 'sweep' ? (x - from > 50 ? 'sweep' : 'end')
      : band.label === 'promoted' ? (x - from > 74 ? '2nd measured' : '2nd')
        : (x - from > 60 ? `round ${band.label}` : band.label);
    root.append(svg('text', { x: (from + x) / 2, y: 13, 'text-anchor': 'middle' }, short));
    for (const point of band.points) {
      if (point.v.wasBest && !point.isSecond) {
        if (best) line.push([point.x, scale.y(valueOf(best))]);
        best = point;
        line.push([point.x, scale.y(valueOf(point))]);
      }
      dots.push(point);
    }
  }
  const lastRound = bands.filter((band) => band.label !== 'promoted').at(-1);
  if (best && lastRound)
    line.push([lastRound.points.at(-1).x + step / 2, scale.y(valueOf(best))]);

  for (const tick of scale.ticks) {
    const y = scale.y(tick);
    if (y < box.top + 5) continue;
    root.append(
      svg('line', { class: 'grid', x1: box.left, x2: box.right, y1: y, y2: y }),
      svg('text', { x: box.left - 8, y: y + 4, 'text-anchor': 'end' },
        isTime ? fmtTime(tick) : fmtGain(tick)));
    if (isTime && search.floor && search.floor <= tick * 1.001)
      root.append(svg('text', { x: box.right + 8, y: y + 4 },
        fmtShare(search.floor / tick)));
  }
  if (isTime && search.floor)
    root.append(svg('text', { x: width, y: height - 4, 'text-anchor': 'end' }, '% of floor'));
  root.append(
    svg('text', { x: box.left - 8, y: laneY + 4, 'text-anchor': 'end' }, 'failed'),
    svg('line', { class: 'grid', x1: box.left, x2: box.right, y1: box.top - 6,
      y2: box.top - 6 }));
  const reference = (value, name, above) => {
    if (!value || value < scale.low || value > scale.high) return false;
    const y = scale.y(value);
    root.append(
      svg('line', { class: 'reference', x1: box.left, x2: box.right, y1: y, y2: y }),
      svg('text', { x: box.right - 6, y: above ? y - 5 : y + 13, 'text-anchor': 'end' },
        name));
    return true;
  };
  reference(isTime ? search.baseline : 1, 'default lowering', true);
  if (isTime && search.floor && !reference(search.floor, 'floor', false))
    root.append(svg('text', { x: box.left, y: height - 4 },
      `floor ${fmtTime(search.floor)}, below this scale`));
  if (line.length > 1)
    root.append(svg('path', { class: 'best',
      d: 'M' + line.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join('L') }));

  const size = step < 6 ? 3.2 : 4.5;
  const nodes = dots.map((point) => drawDot(point, scale, laneY, valueOf, chart, size));
  for (const node of nodes) root.append(node);
  wireDots(search, nodes, dots, tip, holder, width);
  return root;
}

function makeScale(search, bands, box, isTime, valueOf) {
  const values = bands.flatMap((band) => band.points)
    .filter((p) => p.isValid && valueOf(p) > 0).map(valueOf);
  const base = isTime ? search.baseline : 1;
  if (base) values.push(base);
  if (!values.length) values.push(1);
  let low = Math.min(...values);
  let high = Math.max(...values);
  /* A few very slow variants must not squeeze the others; they stay at the edge. */
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  if (isTime && base) high = Math.min(high, Math.max(base, at(0.9)) * 1.3);
  if (!isTime) low = Math.max(low, Math.min(base, at(0.1)) / 1.3);
  if (isTime && search.floor && search.floor > low / 12)
    low = Math.min(low, search.floor);
  const room = Math.max(Math.log(high / low) * 0.08, 0.03);
  low *= Math.exp(-room);
  high *= Math.exp(room);
  const span = Math.log(high / low);
  const y = (value) => {
    const clamped = Math.min(high, Math.max(low, value));
    const part = Math.log(clamped / low) / span;
    return box.bottom - part * (box.bottom - box.top);
  };
  return { low, high, y, ticks: logTicks(low, high) };
}

/* Round values, as many as a reader can use. */
function logTicks(low, high) {
  const steps = [
    [1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7],
    [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9],
    Array.from({ length: 90 }, (_, i) => 1 + i / 10),
    Array.from({ length: 450 }, (_, i) => 1 + i / 50),
  ];
  let chosen = [];
  for (const step of steps) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
      for (const each of step) {
        const value = each * 10 ** power;
        if (value >= low && value <= high) found.push(value);
      }
    if (found.length > 9 && chosen.length > 1) break;
    chosen = found;
    if (chosen.length >= 5) break;
  }
  return chosen;
}

function drawDot(point, scale, laneY, valueOf, chart, size) {
  const failed = !point.isValid;
  const value = valueOf(point);
  const y = failed || !(value > 0) ? laneY : scale.y(value);
  const atEdge = !failed && (value > scale.high || value < scale.low);
  point.y = y;
  const r = point.isWinner ? 7 : size;
  let shape;
  if (failed)
    shape = svg('path', { class: 'shape', d: `M${point.x - size} ${y - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}` });
  else if (point.isSecond)
    shape = svg('path', { class: 'shape',
      d: `M${point.x} ${y - r - 1}l${r} ${r + 1}l${-r} ${r + 1}l${-r} ${-r - 1}z` });
  else if (atEdge)
    shape = svg('path', { class: 'shape',
      d: `M${point.x - 5} ${y + (value > scale.high ? 4 : -4)}h10l-5 ${value > scale.high ? -9 : 9}z` });
  else
    shape = svg('circle', { class: 'shape', cx: point.x, cy: y, r });
  const kinds = ['dot', failed ? 'failed' : point.status === 'slow' ? 'slow' : '',
    chart.hidden.has(categoryOf(point.v)) ? 'off' : ''];
  return svg('g', { class: kinds.filter(Boolean).join(' '), role: 'button',
    tabindex: '-1', 'data-index': point.index, 'data-cat': categoryOf(point.v),
    'aria-label': describe(point) },
    svg('circle', { class: 'hit', cx: point.x, cy: y, r: 9 }),
    shape,
    svg('circle', { class: 'halo', cx: point.x, cy: y, r: 9 }));
}

function describe(point) {
  const where = point.isSecond ? 'second measurement' : roundName(point.v.round);
  return [titleOf(point.v), where, point.status,
    point.seconds > 0 ? fmtTime(point.seconds) : '',
    point.gain > 0 ? `${fmtGain(point.gain)} the default lowering` : '']
    .filter(Boolean).join(', ');
}

function wireDots(search, nodes, dots, tip, holder, width) {
  const show = (point) => {
    const floor = search.floor && point.seconds > 0 ? search.floor / point.seconds : 0;
    tip.replaceChildren(
      h('b', {}, titleOf(point.v)),
      h('span', { class: 'soft' },
        `${point.isSecond ? 'Second measurement' : roundName(point.v.round)}` +
        `${HOW[point.v.how] ? `, ${HOW[point.v.how]}` : ''}`),
      h('div', { class: 'number' },
        point.isValid
          ? [h('strong', {}, fmtTime(point.seconds)), ` · ${fmtGain(point.gain)}`,
            floor ? ` · ${fmtShare(floor)} of floor` : '']
          : [statusBadge(point.status), ' ',
            (point.isSecond ? point.v.promotion.reason : point.v.reason).slice(0, 160)]));
    tip.hidden = false;
    const left = Math.min(Math.max(4, point.x + 14), width - tip.offsetWidth - 4);
    const flip = left < point.x + 8 && left + tip.offsetWidth > point.x;
    tip.style.setProperty('left', `${flip ? Math.max(4, point.x - tip.offsetWidth - 14) : left}px`);
    tip.style.setProperty('top', `${Math.max(0, point.y - tip.offsetHeight / 2)}px`);
  };
  const hide = () => {
    tip.hidden = true;
  };
  for (const [i, node] of nodes.entries()) {
    const point = dots[i];
    node.addEventListener('mouseenter', () => show(point));
    node.addEventListener('mouseleave', hide);
    node.addEventListener('focus', () => show(point));
    node.addEventListener('blur', hide);
    const choose = () => select('variant', point.index,
      { from: 'chart', tab: point.isValid ? undefined : 'verdict' });
    node.addEventListener('click', choose);
    node.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        choose();
      }
    });
  }
  const start = nodes.find((node) =>
    Number(node.getAttribute('data-index')) === state.index) || nodes[0];
  if (start) start.setAttribute('tabindex', '0');
  roving(() => nodes, { next: ['ArrowRight', 'ArrowDown'], back: ['ArrowLeft', 'ArrowUp'] });
}
