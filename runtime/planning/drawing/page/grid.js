// grid.js -- timelines as SVG: lanes of boxes, a cursor of time, one micro-batch followed.

const GRID = { left: 62, right: 6, top: 4 };
const DIGIT = 6.5;  // pixels that a digit of a label takes

// "F0.3" as its parts; null for what has none ("OPT").
function parseInstruction(text) {
  const parts = /^([A-Z]+)(\d+)(?:\.(\d+))?/.exec(text);
  return parts && { op: parts[1], stage: Number(parts[2]), micro_batch: parts[3] === undefined ? -1 : Number(parts[3]) };
}

// The lanes of an answer: {name, limits, boxes: [{text, op, stage, micro_batch, start, end, limits}]}, one per rank. What limits the
// step is marked: ranks of the list, and boxes of the longest path where that is known.
function lanesOf(answer, limitingRanks = []) {
  const path = new Set(answer.path ?? []);
  return answer.timeline.map((spans, rank) => ({
    name: `rank ${rank}`,
    limits: limitingRanks.includes(rank),
    boxes: spans.map(([text, start, end]) => ({ text, ...parseInstruction(text), start, end, limits: path.has(text) })),
  }));
}

// By stage, how strong its colour is: later stages of a rank are paler, as in the SVG that the program writes.
function strengthsOf(lanes) {
  const strengths = {};
  for (const lane of lanes) {
    const stages = [...new Set(lane.boxes.filter((box) => box.stage >= 0).map((box) => box.stage))].sort((a, b) => a - b);
    stages.forEach((stage, chunk) => { strengths[stage] = stages.length > 1 ? 1 - 0.5 * chunk / (stages.length - 1) : 1; });
  }
  return strengths;
}

function laneHeight(lanes) {
  return Math.max(12, Math.min(34, Math.floor(440 / lanes)));
}

const round = (number) => Math.round(number * 100) / 100;
const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

function boxMarkup(box, at, strength) {
  const left = round(GRID.left + box.start * at.scale);
  const width = (box.end - box.start) * at.scale;
  const shown = round(Math.max(width - (width > 4 ? 1 : 0), 0));
  const opacity = strength < 1 ? ` fill-opacity="${strength}"` : '';
  const rect = `<rect class="box ${box.op}${box.limits ? ' limits' : ''}" data-text="${escaped(box.text)}" data-lane="${at.lane}" data-m="${box.micro_batch}"` +
    ` x="${left}" y="${at.top}" width="${shown}" height="${at.height}"${opacity}/>`;
  const label = String(box.micro_batch);
  const fits = box.micro_batch >= 0 && at.height >= 11 && width >= DIGIT * label.length + 2;
  return fits ? `${rect}<text class="in" x="${round(left + shown / 2)}" y="${at.top + at.height / 2 + 4}">${label}</text>` : rect;
}

// Draws lanes of a common time 0 .. until into the width that svg has. Leaves data-scale, pixels per unit of time, for the
// cursor and for whoever measures the picture.
function drawGrid(svg, lanes, { until, pitch = laneHeight(lanes.length), gapAfter = () => 4 }) {
  const width = Math.max(svg.parentElement.clientWidth, 280);
  const scale = until > 0 ? (width - GRID.left - GRID.right) / until : 0;
  let top = GRID.top;
  let markup = '';
  const strengths = strengthsOf(lanes);
  lanes.forEach((lane, index) => {
    const at = { scale, top, height: pitch - 3, lane: index };
    if (lane.name) markup += `<text class="name${lane.limits ? ' limits' : ''}" x="${GRID.left - 6}" y="${top + at.height / 2 + 4}">${escaped(lane.name)}</text>`;
    markup += `<rect class="lane" x="${GRID.left}" y="${top}" width="${round(until * scale)}" height="${at.height}"/>`;
    for (const box of lane.boxes) markup += boxMarkup(box, at, strengths[box.stage]);
    top += pitch - 3 + gapAfter(index);
  });
  svg.innerHTML = `${markup}<rect class="veil" y="0" width="0" height="${top}"/><polyline class="path"/>` +
    `<line class="cursor" y1="0" y2="${top}"/>`;
  svg.setAttribute('width', width);
  svg.setAttribute('height', top);
  svg.dataset.scale = scale;
  svg.dataset.until = until;
}

// Time has come so far: what lies after it is veiled.
function moveCursor(svg, time) {
  const { scale, until } = svg.dataset;
  const x = GRID.left + Math.min(time, until) * scale;
  const veil = svg.querySelector('.veil');
  veil.setAttribute('x', x);
  veil.setAttribute('width', Math.max(GRID.left + until * scale - x, 0));
  const cursor = svg.querySelector('.cursor');
  cursor.setAttribute('x1', x);
  cursor.setAttribute('x2', x);
}

// Shows the way of one micro-batch through the ranks; of none if it is negative.
function follow(svg, microBatch) {
  svg.classList.toggle('following', microBatch >= 0);
  for (const box of svg.querySelectorAll('.box.on')) box.classList.remove('on');
  const boxes = microBatch < 0 ? [] : [...svg.querySelectorAll(`.box[data-m="${microBatch}"]`)];
  boxes.forEach((box) => box.classList.add('on'));
  const middle = (box) => [Number(box.getAttribute('x')) + Number(box.getAttribute('width')) / 2,
    Number(box.getAttribute('y')) + Number(box.getAttribute('height')) / 2];
  const chain = boxes.filter((box) => !box.classList.contains('W') && !box.classList.contains('R'));
  const points = chain.map(middle).sort((one, other) => one[0] - other[0]);
  svg.querySelector('.path').setAttribute('points', points.map((point) => point.map(round).join()).join(' '));
}

// The time under a pointer.
function timeAt(svg, event) {
  const x = event.clientX - svg.getBoundingClientRect().left - GRID.left;
  const { scale, until } = svg.dataset;
  return scale > 0 ? Math.min(Math.max(x / scale, 0), until) : 0;
}
