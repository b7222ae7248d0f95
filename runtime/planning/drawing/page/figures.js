// figures.js -- numbers beside the pictures: tiles, legend, the table of all schedules.

const MEANINGS = { F: 'forward', R: 'recompute', B: 'backward', I: 'backward, input half', W: 'backward, weight half',
  comm: 'messages', update: 'update' };

function number(value) {
  return String(Math.round(value * 1000) / 1000);
}

function percent(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '0 %';
}

// The peak in stashes of a whole rank's layers, so that schedules with thinner stages compare.
function fullest(answer) {
  return Math.max(...answer.peak_stash) * answer.ranks / answer.stages;
}

function tile(name, value, note) {
  return `<div><dt>${name}</dt><dd>${value}<small>${note}</small></dd></div>`;
}

function drawFigures(list, answer) {
  const { makespan, makespan_bubble: bubble, span_bubble: span, stages, ranks } = answer;
  const share = stages % ranks === 0 ? `1/${stages / ranks}` : `${ranks}/${stages}`;
  const thin = stages > ranks ? `, each ${share} of a rank` : '';
  list.innerHTML = tile('Time of a step', number(makespan), 'makespan') +
    tile('Bubble', percent(bubble, makespan), `${number(bubble)} of ${number(makespan)}`) +
    tile('Longest span', number(span), 'bubble within one rank') +
    tile('Most stashes', Math.max(...answer.peak_stash), `on one rank${thin}`);
}

function drawLegend(list, ops, hasPath) {
  const present = Object.keys(MEANINGS).filter((op) => ops.has(op));
  list.innerHTML = present.map((op) => `<li><span class="swatch ${op}"></span>${MEANINGS[op]}</li>`).join('') +
    '<li><span class="swatch idle"></span>waiting</li>' +
    (hasPath ? '<li><span class="swatch limits"></span>outlined: the longest path</li>' : '');
}

// rows: [{name, answer}]; answers with an error are told as such. Bars are relative to the slowest.
function drawTable(table, rows, chosen) {
  const worst = Math.max(...rows.map(({ answer }) => answer.makespan ?? 0));
  const cells = rows.map(({ name, answer }) => {
    const button = `<button type="button" data-schedule="${escaped(name)}">${escaped(name)}</button>`;
    const head = `<tr${name === chosen ? ' class="chosen"' : ''}><th scope="row">${button}</th>`;
    if (answer.error) return `${head}<td colspan="5" class="none">${escaped(answer.error)}</td></tr>`;
    const { makespan, makespan_bubble: bubble } = answer;
    const share = worst > 0 ? 100 / worst : 0;
    const bar = `<span class="bar" style="width:${share * makespan}%"><span style="width:${makespan > 0 ? 100 * (makespan - bubble) / makespan : 0}%"></span></span>`;
    return `${head}<td>${number(makespan)}</td><td class="wide">${bar}</td><td>${percent(bubble, makespan)}</td>` +
      `<td>${number(answer.span_bubble)}</td><td>${number(fullest(answer))}</td></tr>`;
  });
  table.innerHTML = '<thead><tr><th scope="col">Schedule</th><th scope="col">Time</th><th scope="col" class="wide">work and bubble</th>' +
    '<th scope="col">Bubble</th><th scope="col">Span</th><th scope="col" title="of the fullest rank, in stashes of a whole rank">Memory</th></tr></thead>' +
    `<tbody>${cells.join('')}</tbody>`;
}
