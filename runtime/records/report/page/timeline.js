// timeline.js -- recorded steps as lanes, measured above predicted. Drawn by grid.js.

const OP_NAMES = { F: 'forward', R: 'recompute', I: 'backward, input half', B: 'backward', W: 'backward, weight half', comm: 'communication, waiting included',
  update: 'optimizer' };
const COMPUTE = ['F', 'R', 'I', 'B', 'W'];

function spanOf([text, start, length]) {
  const parts = parseInstruction(text);
  const op = parts === null ? 'update' : COMPUTE.includes(parts.op) ? parts.op : 'comm';
  return { text, op, stage: parts?.stage ?? 0, micro_batch: COMPUTE.includes(op) ? parts.micro_batch : -1, start, end: start + length };
}

function laneName(name) {
  return /^rank \d+/.exec(name)?.[0] ?? name;
}

// Sums over replicas run beside the rest, which is drawn over them.
function sumsFirst(boxes) {
  const isSum = (box) => box.text.startsWith('RED');
  return [...boxes.filter(isSum), ...boxes.filter((box) => !isSum(box))];
}

// The lanes of a rank stand together, in the order of the parts (measured first).
function lanesOfStep(parts) {
  const ranks = most(parts.map((part) => part.ranks.length));
  const lanes = [];
  for (let rank = 0; rank < ranks; ++rank) {
    parts.forEach((part, i) => lanes.push({ name: i === 0 ? laneName(part.ranks[rank]?.name ?? '') : '',
      what: `${part.ranks[rank]?.name ?? ''}, ${part.name}`, boxes: sumsFirst((part.ranks[rank]?.boxes ?? []).map(spanOf)) }));
  }
  return lanes;
}

function lengthOf(part) {
  return most(part.ranks.flatMap((rank) => rank.boxes.map(([, start, length]) => start + length)).concat(0));
}

function drawStep({ parts }) {
  const svg = document.getElementById('trace');
  const lanes = lanesOfStep(parts);
  const until = most(parts.map(lengthOf));
  const ranks = lanes.length / parts.length;
  const stages = 1 + most(lanes.flatMap((lane) => lane.boxes.map((box) => box.stage)));
  drawGrid(svg, lanes, { until, ranks, chunks: Math.ceil(stages / ranks), pitch: Math.max(14, Math.min(28, Math.floor(560 / lanes.length))),
    gapAfter: (index) => ((index + 1) % parts.length === 0 ? 9 : 1) });
  addTimeAxis(svg, until);
  document.getElementById('timeline-figures').innerHTML = parts.map((part) =>
    `<div><dt>${escaped(part.name)}</dt><dd>${figure(lengthOf(part))} ms<small>first start to last end of all ranks</small></dd></div>`).join('');
  const ops = new Set(lanes.flatMap((lane) => lane.boxes.map((box) => box.op)));
  document.getElementById('timeline-legend').innerHTML = Object.entries(OP_NAMES).filter(([op]) => ops.has(op)).map(([op, name]) =>
    `<li><span class="swatch ${op}"></span>${name}</li>`).join('');
  svg.onpointermove = svg.onpointerdown = (event) => tellBox(event, lanes);
}

function addTimeAxis(svg, until) {
  const top = Number(svg.getAttribute('height'));
  const scale = Number(svg.dataset.scale);
  const ticks = ticksOf(0, until, 8).map((time) => `<line class="grid" x1="${round(GRID.left + time * scale)}" x2="${round(GRID.left + time * scale)}" ` +
    `y1="${top}" y2="${top + 4}"/><text x="${round(GRID.left + time * scale)}" y="${top + 16}" text-anchor="${time === 0 ? 'start' : 'middle'}">${tickText(time)}${time === 0 ? ' ms' : ''}</text>`);
  svg.insertAdjacentHTML('beforeend', ticks.join(''));
  svg.setAttribute('height', top + 20);
}

// The instruction under the pointer, in words.
function tellBox(event, lanes) {
  const { text, lane } = event.target.dataset ?? {};
  const box = lanes[Number(lane)]?.boxes.find((one) => one.text === text);
  document.getElementById('under').textContent = box
    ? `${lanes[Number(lane)].what}: ${box.text}, ${figure(box.end - box.start)} ms from ${figure(box.start)} ms on`
    : 'Point at an instruction, or touch it, for its times.';
}

function prepareTimeline(timeline) {
  const choice = document.getElementById('step');
  if (choice === null || timeline.steps.length === 0) return () => {};
  choice.innerHTML = timeline.steps.map(({ step }, i) => `<option value="${i}">${step}</option>`).join('');
  const notes = [];
  if (timeline.steps_left_out > 0) notes.push(`${timeline.steps_left_out} more recorded steps are in trace.json alone.`);
  if (timeline.ranks_left_out > 0) notes.push(`${timeline.ranks_left_out} ranks are left out; those drawn are spread evenly.`);
  notes.push('trace.json opens in Perfetto (ui.perfetto.dev).');
  document.getElementById('timeline-note').textContent = notes.join(' ');
  document.getElementById('under').textContent = 'Point at an instruction, or touch it, for its times.';
  const draw = () => {
    drawStep(timeline.steps[Number(choice.value)]);
    drawMemory(timeline.steps[Number(choice.value)]);
  };
  choice.onchange = draw;
  return draw;
}
