'use strict';
// The page of a report. Data: #head (JSON), #index and #packs (base64 of gzip of JSON).
(() => {
  const $ = (id) => document.getElementById(id);
  const head = JSON.parse($('head').textContent);
  const packs = $('packs').textContent.trim().split('\n');
  const perPage = 100, mostCards = 4;
  const outcomes = ['violated', 'invalid', 'held']; // the worst first
  let rows = [], byID = new Map(), clustersOf = new Map(), shown = [], upTo = 0, opened = null;
  // Where the reader is, and comes back to: the case, the hash of the list, the link that led to the case.
  let current = null, listHash = '#', followed = null;

  // el makes an element; all text goes in as text.
  function el(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) {
      if (v === undefined || v === null || v === false) continue;
      if (k in e && k !== 'list') e[k] = v; else e.setAttribute(k, v);
    }
    e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== ''));
    return e;
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return JSON.parse(await new Response(stream).text());
  }

  const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
  const tag = (word) => el('span', { className: 'tag ' + word }, word.replace('-', ' '));
  const copyButton = (text) => el('button', { type: 'button', onclick: (e) => {
    navigator.clipboard?.writeText(text).then(() => { e.target.textContent = 'copied'; });
  } }, 'copy');
  const command = (text) => text ? el('div', { className: 'command' }, el('pre', {}, text), copyButton(text)) : null;

  // --- what was found ---

  function caseLink(id, text) {
    return el('a', { href: '#' + id }, text);
  }

  function clusterCard(c) {
    const first = (c.Cases || [])[0];
    return el('article', { className: 'cluster ' + c.State, id: 'cluster-' + c.ID },
      el('h3', {}, tag(c.State), ' ', c.Title), el('div', { className: 'mono dim' }, c.ID),
      el('ul', {}, (c.Says || []).map((s) => el('li', {}, s))),
      el('div', { className: 'do' },
        first ? caseLink(first, 'open its simplest case') : null,
        (c.Cases || []).length > 1 ? el('a', { href: '#cluster-' + c.ID }, `all its ${plural(c.Cases.length, 'case')}`) : null),
      command(c.Replay));
  }

  function knownRow(c) {
    const first = (c.Cases || [])[0], n = plural((c.Cases || []).length, 'case');
    return el('li', { className: 'knownrow', id: 'cluster-' + c.ID },
      el('div', {}, c.State === 'known' ? null : [tag(c.State), ' '], c.Severity ? [tag(c.Severity), ' '] : null, c.Title,
        el('div', { className: 'mono dim' }, c.ID), (c.Says || []).length ? el('div', { className: 'says dim' }, c.Says.join('; ')) : null),
      el('div', {}, first ? el('a', { href: '#cluster-' + c.ID, 'aria-label': `${n} of ${c.ID}` }, n) : null, el('br'),
        first ? el('a', { href: '#' + first, 'aria-label': `simplest case of ${c.ID}` }, 'simplest') : null));
  }

  const knownRows = (all) => el('ul', { className: 'knownrows' }, all.map(knownRow));
  const folded = (open, text, ...inside) => el('details', { className: 'known', open }, el('summary', {}, el('h3', {}, text)), inside);

  // --- a matrix ---

  const seenWord = (c) => c.seen === 'shown' && c.shown < c.runs ? `shown ${c.shown}/${c.runs}` : c.seen;

  // gridCell is what was expected and what was seen, and leads to a run that shows the latter.
  function gridCell(row, release, c) {
    if (!c.seen) return el('td', { className: 'dim' }, 'not run');
    const ids = c.cases || [], to = ids.find((id) => byID.get(id)?.outcome === c.outcome) || ids[0];
    const lacks = c.seen === '-', says = lacks ? 'no such place' : [c.expected, seenWord(c)].filter(Boolean).join(', ');
    const text = lacks ? ['–'] : [c.expected ? c.expected + ', ' : '', el('b', {}, seenWord(c)), c.differs ? ' ≠' : c.nothing ? ' ?' : ''];
    const label = `${row.name} on ${release}: ${says}` + (c.differs ? ', differs' : c.nothing ? ', shows nothing' : '');
    return el('td', { className: c.differs ? 'differs' : c.nothing ? 'nothing' : lacks ? 'lacks' : '' },
      to ? el('a', { href: '#' + to, 'aria-label': label, title: label }, text) : el('span', { title: label }, text));
  }

  function grid(g) {
    const odd = (row) => row.cells.some((c) => c.differs || c.nothing || !c.seen);
    const some = g.rows.filter(odd).length, both = some > 0 && some < g.rows.length;
    const lines = g.rows.map((row) => [row, el('tr', { hidden: both && !odd(row) },
      el('th', { scope: 'row' }, el('code', {}, row.name), row.title ? el('div', { className: 'dim wide' }, row.title) : null),
      row.cells.map((c, i) => gridCell(row, g.columns[i], c)))]);
    const pressed = (b, on) => b.setAttribute('aria-pressed', String(on));
    const show = (all) => { for (const [row, line] of lines) line.hidden = !all && !odd(row); pressed(less, !all); pressed(more, all); };
    const less = el('button', { type: 'button', id: 'gridodd', onclick: () => show(false) }, g.compares ? `${plural(some, 'finding')} that only one side shows` : `${plural(some, 'bug')} with a cell that differs, shows nothing or has not run`);
    const more = el('button', { type: 'button', id: 'gridall', onclick: () => show(true) }, `all ${plural(g.rows.length, g.compares ? 'finding' : 'bug')}`);
    pressed(less, true);
    pressed(more, false);
    return el('section', { id: 'grid', 'aria-labelledby': 'gridname' }, el('h2', { id: 'gridname' }, g.compares ? 'Findings, on A and on B' : 'Expected, and seen'),
      g.compares ? el('p', { className: 'dim' }, 'How many runs of the cases show the finding. A cell leads to its first run.') :
        el('p', { className: 'dim' }, el('b', {}, 'bad'), ': the catalogue says that the release has the bug, ', el('b', {}, 'ok'), ': it has not. ',
        el('b', {}, 'shown'), ', ', el('b', {}, 'held'), ', ', el('b', {}, 'other'), ' (a violation that is not this bug’s), ', el('b', {}, 'invalid'),
        ': what its runs were. ≠ differs, ? shows nothing, – has no such place. A cell leads to its run.'),
      both ? el('div', { className: 'tools' }, less, more) : null,
      el('div', { className: 'scroll' + (g.columns.length > 9 ? ' many' : ''), tabIndex: 0, role: 'region', 'aria-labelledby': 'gridname' },
        el('table', { className: 'grid' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, g.compares ? 'finding' : 'bug'), g.columns.map((r) => el('th', { scope: 'col' }, r)))),
          el('tbody', {}, lines.map(([, line]) => line)))));
  }

  function overview() {
    const n = head.counts, total = Object.values(n).reduce((a, b) => a + b, 0);
    const worst = outcomes.find((o) => n[o]) || 'violated', others = ['held', 'violated', 'invalid'].filter((o) => o !== worst);
    $('counts').append(el('b', {}, `${n[worst] || 0} ${worst}`), ` of ${plural(total, 'case')}: ${others.map((o) => `${n[o] || 0} ${o}`).join(', ')}. `,
      el('span', { className: 'dim' }, head.made.replace('T', ' ').replace('Z', ' UTC')));
    const at = $('clusters'), all = head.clusters || [];
    const matters = all.filter((c) => c.State !== 'known'), known = all.filter((c) => c.State === 'known');
    if (head.lacks) at.append(el('p', {}, el('b', {}, 'CUT OFF: ' + head.lacks)));
    for (const [i, a] of (head.answers || []).entries()) {
      at.append(el('section', { className: 'answer' + (i ? '' : ' first') }, el('h2', {}, a.head.replace(/:$/, '')),
        a.rows ? el('dl', { className: 'facts' }, a.rows.map((r) => [el('dt', {}, r.name.replace(/:$/, '')), el('dd', {}, r.text)])) : null));
    }
    for (const s of head.says || []) at.append(el('p', {}, s));
    if (head.grid) at.append(grid(head.grid));
    if (all.length) {
      const some = head.grid ? 'What differs, or shows nothing' : 'What is new, the worst first', none = head.grid ? 'Nothing differs' : 'Nothing is new';
      at.append(el('h2', {}, head.answers ? 'What was run' : matters.length ? some : none + (head.lacks ? ' in what has run' : '')));
      const cards = head.answers && !matters.length ? known.splice(0, 1) : matters.splice(0, mostCards);
      at.append(...cards.map(clusterCard));
      if (matters.length) at.append(folded(false, `and ${plural(matters.length, head.grid ? 'cell' : 'cluster')} more`, knownRows(matters)));
      const cases = new Set(known.flatMap((c) => c.Cases || []));
      if (known.length) at.append(folded(!cards.length && !head.grid, `${plural(known.length, 'known finding')}, in ${plural(cases.size, 'case')}`, knownRows(known)));
    }
    if (head.command) at.append(el('details', {}, el('summary', {}, 'How this was made'), command(head.command)));
  }

  // --- the list of cases ---

  function options(select, first, values, label) {
    select.append(el('option', { value: '' }, first));
    for (const v of values) select.append(el('option', { value: v }, label ? label(v) : v));
  }

  function setUpFilter() {
    options($('outcome'), 'all verdicts', outcomes.filter((o) => head.counts[o]), (o) => `${o} (${head.counts[o]})`);
    options($('workload'), 'all workloads', [...new Set(rows.map((r) => r.workload))].filter(Boolean).sort());
    options($('cluster'), 'all clusters', (head.clusters || []).filter((c) => (c.Cases || []).length).map((c) => c.ID));
    for (const id of ['workload', 'cluster']) $(id).hidden = $(id).options.length < 2;
    if (head.counts.violated) $('outcome').value = 'violated';
    for (const id of ['search', 'outcome', 'workload', 'cluster']) $(id).addEventListener('input', filter);
    $('cluster').addEventListener('input', () => { // its permalink is where one comes back to
      listHash = $('cluster').value ? '#cluster-' + $('cluster').value : '#';
      history.replaceState(null, '', listHash);
    });
    $('filter').addEventListener('submit', (e) => { e.preventDefault(); });
    $('more').addEventListener('click', showMore);
    new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) showMore(); }, { rootMargin: '400px' }).observe($('more'));
  }

  function filter() {
    const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcome = $('outcome').value, workload = $('workload').value, cluster = $('cluster').value;
    const inCluster = cluster ? new Set((head.clusters.find((c) => c.ID === cluster) || {}).Cases || []) : null;
    shown = rows.filter((r) => (!outcome || r.outcome === outcome) && (!workload || r.workload === workload) &&
      (!inCluster || inCluster.has(r.id)) && words.every((w) => r.text.includes(w)));
    upTo = 0;
    $('rows').replaceChildren();
    $('shown').textContent = `${plural(shown.length, 'case')}`;
    showMore();
  }

  function showMore() {
    const next = shown.slice(upTo, upTo + perPage);
    upTo += next.length;
    $('rows').append(...next.map((r) => el('li', {}, el('a', { href: '#' + r.id },
      tag(r.outcome), el('span', { className: 'fault mono' }, r.fault || r.name), el('span', { className: 'wl' }, r.workload),
      r.says ? el('span', { className: 'says' }, r.says) : null))));
    $('more').hidden = upTo >= shown.length;
  }

  // --- a case ---

  const ms = (us) => Math.abs(us) < 5 ? '0.00 ms' : Math.abs(us) >= 1e6 ? (us / 1e6).toFixed(3) + ' s' : (us / 1e3).toFixed(Math.abs(us) < 1e4 ? 2 : 1) + ' ms';

  // linked makes links of the addresses in a text of the catalogue's.
  const linked = (text) => text.split(/(https:\/\/[^\s,;]+)/).map((part, i) => i % 2 ? el('a', { href: part, rel: 'noreferrer' }, part) : part);

  function facts(c) {
    const dl = el('dl', { className: 'facts' });
    const line = (name, values, cls) => {
      if (!values || !values.length) return;
      dl.append(el('dt', {}, name), el('dd', { className: cls || '' }, values.map((v) => el('div', {}, v))));
    };
    line('what', c.about ? [c.about] : []);
    line('fault', c.firings);
    line('found', c.findings, 'bad');
    line('it is', (c.whose || []).map(linked));
    line('why', c.problems);
    line('exit', (c.exits || []).map(([id, text]) => `${id} really ended with ${text}`));
    line('known', c.known);
    line('on', [`containerd ${c.version}` + (c.machine ? ', ' + c.machine : '')]);
    line('evidence', c.evidence ? [el('a', { href: c.link }, c.evidence)] : []);
    return dl;
  }

  function partList(name, t, zero) {
    const items = t.items.filter((i) => i[6] && t.lanes[i[0]].Kind !== 'fault').slice(0, 8);
    return el('div', {}, el('h3', {}, name), items.length
      ? el('ol', {}, items.map((i) => el('li', {}, el('span', { className: 'at' }, (i[1] > zero ? '+' : '') + ms(i[1] - zero)), el('span', {}, `${t.lanes[i[0]].Name}: ${i[3]}`))))
      : el('p', { className: 'dim' }, 'nothing that the other has not'));
  }

  function parts(c) {
    if (!c.without) return null;
    const fault = c.with.fault;
    if (fault === undefined) return null;
    return el('section', { 'aria-label': 'where they part' }, el('h2', {}, 'Where they part, since the fault'),
      c.lead ? el('p', { className: 'lead' }, c.lead) : null,
      el('div', { className: 'parts' }, partList('only with the fault', c.with, fault),
        partList('only without it', c.without, fault - (c.later || 0))));
  }

  async function open(id) {
    const r = byID.get(id);
    const at = $('case');
    $('overview').hidden = true;
    at.hidden = false;
    const back = () => el('a', { href: listHash, id: 'back' }, listHash === '#' ? '← all cases' : '← ' + listHash.slice('#cluster-'.length));
    at.replaceChildren(el('p', {}, back()));
    if (!r) { at.append(el('p', {}, `There is no case ${id} in this report.`)); return; }
    const pack = await unpack(packs[Math.floor(r.n / head.packed)]);
    if (location.hash.slice(1) !== id && rows.length > 1) return; // another was opened meanwhile
    const c = pack[r.n % head.packed];
    for (const t of [c.with, c.without]) { // an item's time is that since the item before it
      let last = 0;
      for (const i of t ? t.items : []) { last += i[1]; i[1] = last; }
    }
    document.title = `${r.id} ${r.name}: ${head.title}`;
    const i = shown.indexOf(r);
    const near = (d) => { const n = i < 0 ? null : shown[i + d]; return n ? el('a', { href: '#' + n.id, id: d < 0 ? 'previous' : 'next' }, d < 0 ? '‹ previous' : 'next ›') : null; };
    at.replaceChildren(
      el('nav', { className: 'tools', 'aria-label': 'cases' }, rows.length > 1 ? back() : null, near(-1), near(1),
        rows.length > 1 && i >= 0 ? el('span', { className: 'dim' }, `${i + 1} of ${shown.length} in the list`) : null),
      el('div', { className: 'top' }, tag(r.outcome), el('h2', { className: 'mono', id: 'casename', tabIndex: -1 }, r.fault || r.name), el('a', { href: '#' + r.id, className: 'dim' }, '#' + r.id)),
      facts(c));
    const cl = clustersOf.get(id) || [];
    if (cl.length) at.append(el('p', {}, 'belongs to ', cl.map((k, i) => [i ? ', ' : '', el('a', { href: '#cluster-' + k.ID }, k.ID), ' (', k.State.replace('-', ' '), ')'])));
    const p = parts(c);
    if (p) at.append(p);
    if (c.with) timeline(at, c); else at.append(el('p', { className: 'dim' }, 'No history of it was kept, so it has no timeline.'));
    if (c.replay) at.append(el('h2', {}, 'Run it again'), command(c.replay));
    window.scrollTo(0, 0);
    $('casename').focus({ preventScroll: true });
  }

  // --- its timeline ---

  // warp maps µs of a run to what is drawn: times in which nothing happens are cut short.
  function warp(times, cutFrom, cutTo) {
    const known = [...new Set(times)].sort((a, b) => a - b);
    const at = [known[0] || 0], to = [0], cuts = [];
    for (let i = 1; i < known.length; i++) {
      const d = known[i] - known[i - 1];
      const drawn = d > cutFrom ? cutTo : d;
      if (drawn !== d) cuts.push([known[i - 1], known[i]]);
      at.push(known[i]);
      to.push(to[to.length - 1] + drawn);
    }
    const map = (from, into) => (x) => {
      let lo = 0, hi = from.length - 1;
      if (x <= from[0]) return into[0] + (x - from[0]);
      if (x >= from[hi]) return into[hi] + (x - from[hi]);
      while (hi - lo > 1) { const m = (lo + hi) >> 1; if (from[m] <= x) lo = m; else hi = m; }
      return into[lo] + (into[hi] - into[lo]) * (x - from[lo]) / (from[hi] - from[lo]);
    };
    return { there: map(at, to), back: map(to, at), cuts, length: to[to.length - 1] };
  }

  function timeline(at, c) {
    const runs = [{ t: c.with, shift: 0, cls: '' }];
    if (c.without) runs.push({ t: c.without, shift: c.later || 0, cls: 'without' });
    const begin = (run, i) => i[1] + run.shift;
    const times = [];
    for (const run of runs) for (const i of run.t.items) { times.push(begin(run, i), begin(run, i) + i[2]); }
    const total = Math.max(...times) - Math.min(...times);
    const w = warp(times, Math.max(120e3, total / 40), 40e3);

    const groups = [], items = [], wide = Math.max(200, at.clientWidth - 110);
    let n = 0;
    runs.forEach((run, k) => {
      const ofKind = {};
      run.t.lanes.forEach((l, i) => {
        ofKind[l.Kind] = (ofKind[l.Kind] || 0) + 1;
        groups.push({ id: k * 1000 + i, content: l.Name, className: run.cls, run: k, kind: l.Kind, place: i, nth: ofKind[l.Kind] });
      });
      const sink = k === 0;
      for (const i of run.t.items) {
        const from = w.there(begin(run, i)), to = w.there(begin(run, i) + i[2]);
        const mark = i[5] || '';
        if (i[0] < 0) { // a phase, over all lanes
          if (!sink) continue;
          items.push({ id: ++n, type: 'background', start: from, end: to, className: 'phase', content: '', item: i, run });
          const harness = run.t.lanes.findIndex((l) => l.Kind === 'client' && l.Name === 'harness');
          if (harness >= 0) items.push({ id: ++n, group: harness, start: from, end: to, type: 'range', className: 'runs', content: i[3], item: i, run });
          continue;
        }
        // As a bar only where its words fit into it when all is seen.
        const isLong = mark === 'runs' || mark === 'left' && i[2] > 0 || (to - from) / w.length * wide > i[3].length * 6.3 + 10;
        items.push({
          id: ++n, group: k * 1000 + i[0], start: from, end: isLong ? to : undefined, type: isLong ? 'range' : 'point',
          className: [mark, i[6] ? 'parted' : '', run.cls].filter(Boolean).join(' '), content: i[3], item: i, run, minor: mark === 'minor',
          subgroup: mark === 'runs' ? 0 : 1,
        });
      }
    });
    for (const [a, b] of w.cuts) items.push({ id: ++n, type: 'background', start: w.there(a), end: w.there(b), className: 'cut', content: '' });

    const box = el('div', { id: 'line', tabIndex: 0, role: 'application', 'aria-label': 'timeline; arrow keys move it, plus and minus zoom, n and p go to what is marked' });
    const axis = el('div', { id: 'axis' }), detail = el('div', { id: 'detail', role: 'status' }, el('span', { className: 'dim' }, 'Choose something in the timeline to read of it here.'));
    const find = el('input', { type: 'search', placeholder: 'find in the timeline', 'aria-label': 'find in the timeline', id: 'find' });
    const state = { all: false, without: at.clientWidth > 700, apart: false };
    const toggle = (key, text, id) => el('button', { type: 'button', id, 'aria-pressed': String(state[key]), onclick: (e) => {
      state[key] = !state[key];
      e.target.setAttribute('aria-pressed', String(state[key]));
      draw();
    } }, text);
    const press = (text, title, f, id) => el('button', { type: 'button', title, id, 'aria-label': text.length === 1 ? title : null, onclick: f }, text);

    const groupSet = new vis.DataSet(), itemSet = new vis.DataSet();
    function draw() {
      const order = (g) => state.apart ? g.run * 1000 + g.place : lanesOrder(g);
      groupSet.clear();
      groupSet.add(groups.filter((g) => state.without || g.run === 0).map((g) => ({ ...g, order: order(g) })));
      const word = find.value.toLowerCase();
      const shows = (i) => i.group === undefined || (state.all || !i.minor || i.item[6]) && (state.without || i.group < 1000);
      itemSet.clear();
      itemSet.add(items.filter(shows).map((i) => ({ ...i, className: (i.className || '') + (word && i.group !== undefined && !textOf(i).includes(word) ? ' faint' : '') })));
    }
    const textOf = (i) => (i.item[3] + ' ' + i.item[4]).toLowerCase();
    const kinds = ['fault', 'client', 'containerd', 'shim', 'container', 'event', 'reported', 'log', 'found'];
    const lanesOrder = (g) => kinds.indexOf(g.kind) * 10000 + g.nth * 10 + g.run;

    const byHand = [
      c.with.fault !== undefined ? press('around the fault', 'f', () => focusFault(), 'tofault') : null, press('all', '0', () => fit(), 'fit'),
      press('+', 'zoom in', () => line.zoomIn(0.6)), press('−', 'zoom out', () => line.zoomOut(0.6)),
      press('‹', 'what is marked before (p)', () => step(-1)), press('›', 'what is marked next (n)', () => step(1), 'nextmark'),
      items.some((i) => i.minor) ? toggle('all', 'all calls', 'allcalls') : null, c.without ? toggle('without', 'beside it: without the fault', 'without') : null,
      c.without ? toggle('apart', 'one below the other', 'apart') : null, find,
    ].filter(Boolean);
    at.append(el('section', { 'aria-label': 'timeline' }, el('h2', {}, 'Timeline'), el('div', { className: 'tools' }, byHand), legend(c), box, detail,
      el('p', { className: 'keys wide' }, el('kbd', {}, '←'), ' ', el('kbd', {}, '→'), ' move, ', el('kbd', {}, '+'), ' ', el('kbd', {}, '−'), ' or Ctrl and the wheel zoom, ',
        el('kbd', {}, 'n'), ' ', el('kbd', {}, 'p'), ' next and previous mark, ', el('kbd', {}, 'f'), ' fault, ', el('kbd', {}, '0'), ' all. ',
        c.without ? 'Grey rows: the same workload without the fault, laid so that both are at the fault’s place together; underlined: only one of the two does it. ' : '',
        'Hatched: time in which nothing happens, cut short.'),
      el('details', { ontoggle: (e) => { if (e.target.open && !e.target.dataset.done) { e.target.dataset.done = 1; e.target.append(table(c)); } } }, el('summary', {}, 'the same as a list'))));
    box.append(axis);

    draw();
    const line = new vis.Timeline(box, itemSet, groupSet, {
      stack: true, showMajorLabels: false, showMinorLabels: false, showCurrentTime: false, zoomKey: 'ctrlKey', zoomMin: 200,
      min: new Date(-w.length * 0.1 - 1e5), max: new Date(w.length * 1.1 + 1e5), orientation: 'top', selectable: true, groupOrder: 'order', margin: { item: { horizontal: 3, vertical: 2 }, axis: 2 },
      template: (item) => el('span', {}, item && item.content || ''), groupTemplate: (g) => el('span', {}, g ? g.content : ''),
      moveable: true, horizontalScroll: false, xss: { disabled: false },
    });
    const fault = c.with.fault, hasFault = fault !== undefined;
    if (hasFault) line.addCustomTime(new Date(w.there(fault)), 'fault');
    const fit = () => line.setWindow(-w.length * 0.01, w.length * 1.06, { animation: false });
    const focusFault = () => {
      if (!hasFault) return fit();
      const m = w.there(fault);
      line.setWindow(m - w.length * 0.06, m + w.length * 0.14, { animation: false });
    };
    const zero = hasFault ? fault : 0;
    const fromFault = (us) => us ? `${ms(us)} ${us < 0 ? 'before' : 'after'} the fault` : 'where the fault is';
    function describe(i) {
      detail.className = 'chosen';
      detail.replaceChildren(el('b', {}, i.item[3]), el('span', { className: 'dim' }, `  ${i.run.cls ? 'without the fault, ' : ''}${i.item[0] >= 0 ? i.run.t.lanes[i.item[0]].Name : ''}; at ${ms(i.item[1])}` +
        (hasFault ? `, ${fromFault(begin(i.run, i.item) - zero)}` : '') + (i.item[2] ? `, takes ${ms(i.item[2])}` : '')), el('br'), i.item[4] || '');
    }
    line.on('select', (e) => { const i = items[e.items[0] - 1]; if (i && i.item) describe(i); });
    const marked = items.filter((i) => i.item && ['fault', 'left', 'wrong', 'error'].includes(i.item[5]) && i.run === runs[0]).sort((a, b) => a.start - b.start);
    let mark = -1;
    function step(d) {
      if (!marked.length) return;
      mark = (mark + d + marked.length) % marked.length;
      const i = marked[mark], range = line.getWindow(), half = (range.end - range.start) / 2;
      line.setSelection([i.id]);
      line.setWindow(i.start - half, i.start + half, { animation: false });
      describe(i);
    }
    // The library's axis counts in sixties; this one in milliseconds, and knows the cuts.
    function ticks() {
      const range = line.getWindow(), from = +range.start, to = +range.end, left = line.dom.left.offsetWidth, width = line.dom.center.offsetWidth;
      const scale = width / (to - from), out = [];
      let unit = 1;
      const least = 90 / scale;
      for (const u of [1, 2, 5]) for (let p = 1; p <= 1e8; p *= 10) if (u * p >= least && (unit === 1 || u * p < unit)) unit = u * p;
      let last = -1e9;
      const a = w.back(Math.max(from, 0)), b = w.back(Math.min(to, w.length));
      const isCut = (x) => w.cuts.some(([s, e]) => x > s && x < e);
      for (let x = Math.ceil((a - zero) / unit) * unit; x <= b - zero; x += unit) {
        const px = (w.there(x + zero) - from) * scale;
        if (px - last < 60) { if (out.length > 400) break; const cut = w.cuts.find(([s, e]) => x + zero > s && x + zero < e); if (cut) x = Math.floor((cut[1] - zero) / unit) * unit; continue; }
        if (isCut(x + zero)) continue;
        last = px;
        out.push(el('span', { style: `left:${left + px}px` }, (x > 0 ? '+' : '') + (unit >= 1e6 || Math.abs(x) >= 1e6 ? (x / 1e6).toLocaleString('en', { maximumFractionDigits: 3 }) + ' s' : (x / 1e3).toLocaleString('en', { maximumFractionDigits: 3 }) + ' ms')));
      }
      axis.replaceChildren(...out);
    }
    line.on('rangechange', ticks);
    line.on('changed', ticks);
    find.addEventListener('input', draw);
    box.addEventListener('keydown', (e) => {
      const range = line.getWindow(), d = (range.end - range.start) * 0.15;
      const by = { ArrowLeft: () => line.setWindow(+range.start - d, +range.end - d, { animation: false }), ArrowRight: () => line.setWindow(+range.start + d, +range.end + d, { animation: false }),
        '+': () => line.zoomIn(0.4), '=': () => line.zoomIn(0.4), '-': () => line.zoomOut(0.4), n: () => step(1), p: () => step(-1), f: focusFault, 0: fit }[e.key];
      if (by && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); by(); }
    });
    fit();
    ticks();
    opened = { line, c, items };
  }

  // legend names the colours that the timeline of a case has.
  function legend(c) {
    const has = (of) => c.with.items.some(of), mark = (m) => has((i) => i[5] === m);
    const keys = [[mark('fault'), 'fault', 'the fault'], [mark('left') || mark('wrong'), 'left', 'left behind, or wrong'], [mark('error'), 'error', 'a call that fails'],
      [mark('ended'), 'ended', 'an end'], [mark('runs'), 'runs', 'a process that runs'], [mark('phase'), 'phase', 'the harness waits and looks'],
      [has((i) => i[6]), 'parted', 'only one of the two runs does it'], [!!c.without, 'without', 'the run without the fault']];
    return el('ul', { className: 'legend', 'aria-label': 'colours' }, keys.filter(([is]) => is).map(([, cls, text]) => el('li', { className: 'key-' + cls }, text)));
  }

  function table(c) {
    return el('table', { className: 'all', 'aria-label': 'what happened' }, el('thead', {}, el('tr', {}, [['at', ''], ['who', ''], ['what', ''], ['more', 'wide']].map(([text, cls]) => el('th', { scope: 'col', className: cls }, text)))), el('tbody', {}, c.with.items.filter((i) => i[0] >= 0 && i[5] !== 'runs').map((i) =>
      el('tr', {}, el('td', {}, ms(i[1])), el('td', { className: 'dim' }, c.with.lanes[i[0]].Name), el('td', {}, i[3], i[5] && i[5] !== 'minor' ? [' ', tag(i[5])] : ''), el('td', { className: 'dim wide' }, i[4])))));
  }

  // --- which of these is to be seen ---

  // comeBack puts the focus on the link that the reader has followed, or on the row of the case that was left.
  function comeBack(id) {
    const row = () => document.querySelector(`#rows a[href="#${CSS.escape(id)}"]`);
    while (!row() && upTo < shown.length && shown.indexOf(byID.get(id)) >= upTo) showMore();
    const at = followed?.isConnected && followed.hash === '#' + id ? followed : row();
    at?.scrollIntoView({ block: 'center', behavior: 'instant' });
    at?.focus({ preventScroll: true });
  }

  function showList(id) {
    const anew = listHash !== '#' + id, left = current;
    current = null;
    document.title = head.title;
    $('case').hidden = true;
    $('overview').hidden = false;
    if (id.startsWith('cluster-') && anew) {
      $('outcome').value = '';
      $('cluster').value = id.slice('cluster-'.length);
      filter();
    } else if (id === '' && anew) {
      $('cluster').value = '';
      if (head.counts.violated) $('outcome').value = 'violated';
      filter();
    }
    if (id === '' || id.startsWith('cluster-')) listHash = '#' + id;
    if (left && !anew) comeBack(left);
    else if (id.startsWith('cluster-')) { $('list').scrollIntoView(); $('list').focus({ preventScroll: true }); }
  }

  function route() {
    const id = decodeURIComponent(location.hash.slice(1));
    if (opened) { opened.line.destroy(); opened = null; }
    const only = rows.length === 1 && !(head.clusters || []).length && !id;
    if (!only && !byID.has(id) && !id.startsWith('case-')) { showList(id); return; }
    const link = document.activeElement;
    if (!current && link?.hash === '#' + id) followed = link;
    current = only ? rows[0].id : id;
    open(current);
  }

  document.addEventListener('keydown', (e) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) { if (e.key === 'Escape') e.target.blur(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === '/' && !$('overview').hidden) { e.preventDefault(); $('search').focus(); }
    if (e.key === '/' && !$('case').hidden) { e.preventDefault(); $('find')?.focus(); }
    if (e.key === 'Escape' && !$('case').hidden) location.hash = listHash;
    if (e.key === 'j') $('next')?.click();
    if (e.key === 'k') $('previous')?.click();
  });

  (async () => {
    rows = await unpack($('index').textContent);
    rows.forEach((r, n) => { r.n = n; r.text = `${r.id} ${r.name} ${r.outcome} ${r.workload} ${r.fault} ${r.says}`.toLowerCase(); r.rank = Infinity; byID.set(r.id, r); });
    for (const [rank, c] of (head.clusters || []).entries()) for (const id of c.Cases || []) {
      clustersOf.set(id, [...(clustersOf.get(id) || []), c]);
      const r = byID.get(id);
      if (r) r.rank = Math.min(r.rank, rank);
    }
    rows.sort((a, b) => outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome) || a.rank - b.rank || a.n - b.n);
    overview();
    setUpFilter();
    filter();
    window.addEventListener('hashchange', route);
    route();
    document.body.dataset.ready = Math.round(performance.now());
  })();
})();
