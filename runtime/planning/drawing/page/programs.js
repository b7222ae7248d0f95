// programs.js -- the page's answers: the programs came with it (program_grid.h), and when they run
// is worked out here, as runtime/planning/schedule/timing/simulate.h says it for messages that have a latency
// and nothing else. tests/page compares the two.

const LETTERS = ['F', 'I', 'W', 'B'];
const MAKES_INPUT_GRADIENT = ['I', 'B'];

// The text with what is repeated written out: '3A3(BC)' is 'AAABCBCBC'.
const writtenOut = (text) => text.replace(/(\d+)(?:([A-Z])|\(([A-Z]+)\))/g, (_, times, one, many) => (one ?? many).repeat(Number(times)));

// [[{op, stage, m}]] by rank. `at`: rank by stage.
function unpackPrograms(text, at) {
  const orders = at.map(() => ({ F: 0, B: 0, halves: [] }));
  const microBatch = (order, op) => {
    if (op === 'F') return order.F++;
    if (op === 'W') return order.halves.shift();  // the oldest that waits
    if (op === 'I') order.halves.push(order.B);
    return order.B++;
  };
  return writtenOut(text).split(' ').map((letters, rank) => {
    const stages = at.flatMap((holder, stage) => (holder === rank ? [stage] : []));
    return [...letters].map((letter) => {
      const code = letter.charCodeAt(0) - 65;
      const op = LETTERS[code % 4];
      const stage = stages[Math.floor(code / 4)];
      return { op, stage, m: microBatch(orders[stage], op) };
    });
  });
}

// The programs of a user's own schedule, as the page's first answer has them.
function readPrograms(programs) {
  return programs.map((texts) => texts.map((text) => {
    const [, op, stage, m] = /^([FRIWB])(\d+)\.(\d+)$/.exec(text);
    return { op, stage: Number(stage), m: Number(m) };
  }).filter(({ op }) => op !== 'R'));
}

// Whether every backward of a stage follows its forward at once: recomputing it gains nothing then.
function turnsAtOnce(program, stage) {
  return program.every(({ op, m }, i) => op !== 'F' || program[i].stage !== stage ||
    (program[i + 1]?.stage === stage && program[i + 1].m === m && MAKES_INPUT_GRADIENT.includes(program[i + 1].op)));
}

function withRecompute(program, mode) {
  if (mode === 'none') return program;
  const kept = new Set(program.map(({ stage }) => stage).filter((stage) => mode === 'stage' && turnsAtOnce(program, stage)));
  return program.flatMap((one) => (MAKES_INPUT_GRADIENT.includes(one.op) && !kept.has(one.stage) ? [{ ...one, op: 'R' }, one] : [one]));
}

// The time of each op, for all stages alike; a stage takes its even share of a rank's.
function timesOf({ times: [forward, input, weight], recompute }, share) {
  const again = recompute === 'layer' ? forward * share : 0;
  return { F: forward * share, R: recompute === 'layer' ? 0 : forward * share, I: input * share + again, W: weight * share,
    B: input * share + weight * share + again };
}

// [[{op, stage, m, start, end}]] by rank: each as early as its rank and its input allow; null if none can go on.
function runPrograms(programs, at, times, latency) {
  const made = new Map();  // when what others need is there, and where it was made
  const free = programs.map(() => 0);
  const spans = programs.map(() => []);
  const inputOf = ({ op, stage, m }) => {
    if (op === 'F' && stage > 0) return `F${stage - 1}.${m}`;
    return MAKES_INPUT_GRADIENT.includes(op) && stage < at.length - 1 ? `B${stage + 1}.${m}` : null;
  };
  for (let goesOn = true; goesOn;) {
    goesOn = false;
    programs.forEach((program, rank) => {
      for (; spans[rank].length < program.length; goesOn = true) {
        const one = program[spans[rank].length];
        const input = inputOf(one);
        if (input !== null && !made.has(input)) return;
        const from = made.get(input);
        const start = from === undefined ? free[rank] : Math.max(free[rank], from.end + (from.rank === rank ? 0 : latency));
        const end = start + times[one.op];
        free[rank] = end;
        spans[rank].push({ ...one, start, end });
        if (one.op === 'F') made.set(`F${one.stage}.${one.m}`, { end, rank });
        if (MAKES_INPUT_GRADIENT.includes(one.op)) made.set(`B${one.stage}.${one.m}`, { end, rank });
      }
    });
  }
  return programs.every((program, rank) => spans[rank].length === program.length) ? spans : null;
}

// Runs along a rank's spans: [most whole stashes, most weight halves, [[time, stashes]]].
function stashesOf(spans) {
  let [whole, halves, mostWhole, mostHalves] = [0, 0, 0, 0];
  const levels = [[0, 0]];
  for (const { op, end } of spans) {
    const before = whole;
    if (op === 'F') ++whole;
    if (MAKES_INPUT_GRADIENT.includes(op)) --whole;
    if (op === 'I') ++halves;
    if (op === 'W') --halves;
    if (whole !== before) levels.push([end, whole]);
    mostWhole = Math.max(mostWhole, whole);
    mostHalves = Math.max(mostHalves, halves);
  }
  return [mostWhole, mostHalves, levels];
}

// The figures of timeline.h, of spans that take time.
function bubblesOf(spans) {
  const ranks = spans.map((all) => all.filter(({ start, end }) => end > start)).map((all) => ({
    first: all.reduce((least, { start }) => Math.min(least, start), Infinity), last: all.reduce((most, { end }) => Math.max(most, end), -Infinity),
    busy: all.reduce((sum, { start, end }) => sum + end - start, 0) }));
  const length = (first, last) => (last > first ? last - first : 0);
  const whole = length(Math.min(...ranks.map(({ first }) => first)), Math.max(...ranks.map(({ last }) => last)));
  return { makespan: Math.max(0, ...spans.flat().map(({ end }) => end)),
    makespan_bubble: whole - ranks.reduce((sum, { busy }) => sum + busy, 0) / ranks.length,
    span_bubble: Math.max(0, ...ranks.map(({ first, last, busy }) => length(first, last) - busy)) };
}

function answerFromPrograms(computed, at, settings) {
  const programs = computed.map((program) => withRecompute(program, settings.recompute));
  const spans = runPrograms(programs, at, timesOf(settings, programs.length / at.length), settings.latency);
  if (spans === null) return { error: 'This schedule cannot be run: every rank waits for another.' };
  const text = ({ op, stage, m }) => `${op}${stage}.${m}`;
  const stashes = spans.map(stashesOf);
  return { ranks: programs.length, stages: at.length, micro_batches: 1 + Math.max(...computed.flat().map(({ m }) => m)),
    programs: programs.map((program) => program.map(text)), ...bubblesOf(spans), peak_stash: stashes.map(([most]) => most),
    peak_weight_halves: stashes.map(([, most]) => most), rank_of_stage: at,
    timeline: spans.map((all) => all.map((span) => [text(span), span.start, span.end])), stash: stashes.map(([, , levels]) => levels) };
}

// A function from settings to an answer, both as json.h says, or to {error: sentence}. `first` is the answer
// that came with the page, for `asked`; a schedule of the user's own has no other sizes.
function answersFrom(grid, asked, first) {
  return (settings) => {
    const isFirst = ['schedule', 'stages', 'micro_batches', 'chunks'].every((key) => settings[key] === asked[key]);
    if (settings.csv !== '' || isFirst) {
      const anew = answerFromPrograms(readPrograms(first.programs), first.rank_of_stage, settings);
      const isAsked = isFirst && ['recompute', 'times', 'latency'].every((key) => String(settings[key]) === String(asked[key]));
      return isAsked && first.path ? { ...anew, path: first.path } : anew;
    }
    const column = grid.programs[`${settings.schedule} ${settings.stages / settings.chunks}x${settings.chunks}`];
    const found = column?.of[settings.micro_batches - 1];
    if (found === undefined) {
      return { error: `This page holds schedules of up to ${grid.ranks} ranks, ${grid.micro_batches} micro-batches and ${grid.chunks} stages per rank. ` +
        'For others, make it anew with them.' };
    }
    return found.error === undefined ? answerFromPrograms(unpackPrograms(found, column.at), column.at, settings) : found;
  };
}
