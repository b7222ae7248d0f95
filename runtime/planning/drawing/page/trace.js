// trace.js -- Chrome trace events as lanes: what was measured above what was predicted.
// Format: runtime/records/telemetry/trace_json.h.

// {processes: [{name, ranks: [{name, boxes}]}], steps: [number]}; times in milliseconds. Throws an Error with a
// sentence if this is not such a file.
function readTrace(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('This file is not JSON.');
  }
  const events = Array.isArray(json) ? json : json?.traceEvents;
  if (!Array.isArray(events)) throw new Error('This file holds no trace: it has no "traceEvents".');
  const processes = new Map();
  const process = (pid) => processes.get(pid) ?? processes.set(pid, { name: `process ${pid}`, rankOf: new Map(), ranks: new Map() }).get(pid);
  const rank = (event) => {
    const { rankOf, ranks } = process(event.pid);
    const number = rankOf.get(event.tid) ?? event.tid;
    return ranks.get(number) ?? ranks.set(number, { name: `rank ${number}`, boxes: [] }).get(number);
  };
  for (const event of events) {
    if (event.ph === 'M' && event.name === 'process_name') process(event.pid).name = event.args.name;
    if (event.ph === 'M' && event.name === 'thread_name') {
      // A rank has a thread for each of its streams; they say which rank's they are.
      if (event.args.rank !== undefined) process(event.pid).rankOf.set(event.tid, event.args.rank);
      rank(event).name = event.args.rank_name ?? event.args.name;
    }
    if (event.ph === 'X') rank(event).boxes.push(boxOf(event));
  }
  const found = [...processes.values()].map(({ name, ranks }) => ({ name, ranks: [...ranks].sort(([a], [b]) => a - b).map(([, lane]) => lane) }));
  const boxes = found.flatMap(({ ranks }) => ranks.flatMap((lane) => lane.boxes));
  if (boxes.length === 0) throw new Error('This trace is empty: it has no complete ("X") events.');
  return { processes: found, steps: [...new Set(boxes.map((box) => box.step))].sort((a, b) => a - b) };
}

function boxOf({ name, cat, ts, dur, args = {} }) {
  const op = cat === 'communication' ? 'comm' : cat === 'update' ? 'update' : args.op ?? parseInstruction(name)?.op ?? 'comm';
  return { text: name, op, cat, stage: args.stage ?? 0, micro_batch: cat === 'compute' ? args.micro_batch ?? -1 : -1, step: args.step ?? 0,
    start: ts / 1000, end: (ts + (dur ?? 0)) / 1000 };
}

// One step of a process with its own time 0, its makespan, and the share of it that ranks compute. A process
// with a single step, such as a prediction, has it for all.
function stepOf({ name, ranks }, step) {
  const single = new Set(ranks.flatMap((lane) => lane.boxes.map((box) => box.step))).size === 1;
  const chosen = ranks.map((lane) => ({ name: lane.name, boxes: lane.boxes.filter((box) => single || box.step === step) }));
  const all = chosen.flatMap((lane) => lane.boxes);
  if (all.length === 0) return null;
  const first = all.reduce((least, box) => Math.min(least, box.start), Infinity);
  // Sums over replicas run beside the rest, which is drawn over them.
  const sumsFirst = (boxes) => [...boxes].sort((a, b) => b.text.startsWith('RED') - a.text.startsWith('RED'));
  const lanes = chosen.map((lane) => ({ name: lane.name, boxes: sumsFirst(lane.boxes).map((box) => ({ ...box, start: box.start - first, end: box.end - first })) }));
  const makespan = all.reduce((most, box) => Math.max(most, box.end), 0) - first;
  const busy = all.filter((box) => box.cat === 'compute').reduce((sum, box) => sum + box.end - box.start, 0);
  return { name, lanes, makespan, busy: makespan > 0 ? busy / (makespan * lanes.length) : 0 };
}

// A rank's lanes stand together, in the order of the processes (measured first).
function drawTrace(svg, { figures, legend }, trace, step) {
  const parts = trace.processes.map((process) => stepOf(process, step)).filter((part) => part !== null);
  const until = Math.max(...parts.map((part) => part.makespan));
  const ranks = Math.max(...parts.map((part) => part.lanes.length));
  const lanes = [];
  for (let rank = 0; rank < ranks; ++rank) {
    parts.forEach((part, i) => lanes.push({ name: i === 0 ? part.lanes[rank]?.name : '', boxes: part.lanes[rank]?.boxes ?? [] }));
  }
  drawGrid(svg, lanes, { until, pitch: Math.max(12, Math.min(28, Math.floor(560 / lanes.length))),
    gapAfter: (index) => ((index + 1) % parts.length === 0 ? 8 : 1) });
  drawLegend(legend, new Set(lanes.flatMap((lane) => lane.boxes.map((box) => box.op))));
  figures.innerHTML = parts.map(({ name, makespan, busy }) => tile(escaped(name), `${number(makespan)} ms`, `ranks compute ${percent(busy, 1)} of it`)).join('');
}
