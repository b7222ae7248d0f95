// state.js -- what the reader has chosen, and its two written forms: the address of the page, which
// can be sent to others, and the command line.

const COUNTS = { ranks: [1, 32], micro_batches: [1, 64], chunks: [1, 8] };
const TIMES = { forward: [0, 4], backward_input: [0, 4], backward_weight: [0, 4], latency: [0, 2] };
const RECOMPUTE = ['none', 'stage', 'layer'];

// The state of the settings that the page was made for, which may lie outside the sliders' limits,
// with the schedule that it shows beside it. `entry` is the schedule's in the menu.
function initialState({ settings, answer, compare }, entry) {
  const { schedule, micro_batches, chunks, recompute, times, latency } = settings;
  const [forward, backward_input, backward_weight] = times;
  return { schedule, compare, ranks: answer.ranks, micro_batches, chunks: entry.chunks_vary ? chunks : 0, recompute,
    forward, backward_input, backward_weight, latency };
}

// The state with what the address says, as far as it makes sense.
function readAddress(state, schedules) {
  const given = new URLSearchParams(location.hash.slice(1));
  const next = { ...state };
  for (const [key, [least, most]] of Object.entries({ ...COUNTS, ...TIMES })) {
    const number = given.has(key) ? Number(given.get(key)) : NaN;
    if (number >= least && number <= most) next[key] = key in COUNTS ? Math.round(number) : number;
  }
  const known = (name) => schedules.some((schedule) => schedule.name === name);
  if (known(given.get('schedule'))) next.schedule = given.get('schedule');
  if (RECOMPUTE.includes(given.get('recompute'))) next.recompute = given.get('recompute');
  if (given.has('compare')) next.compare = known(given.get('compare')) ? given.get('compare') : '';
  return next;
}

function writeAddress(state) {
  const kept = Object.entries(state).filter(([key, value]) => value !== '' && !(key === 'chunks' && value === 0));
  history.replaceState(null, '', '#' + new URLSearchParams(kept));
}

// Stages per rank: those chosen, where a schedule leaves the choice; 0 is no choice.
function chunksOf(state, schedule) {
  return schedule.chunks_vary && state.chunks > 0 ? state.chunks : schedule.chunks;
}

// What is asked of programs.js, for a schedule of the menu. Ranks are kept and stages follow, so that all
// schedules compare on the same devices. A schedule of the user's own has its placement: the rank of each stage.
function settingsOf(state, schedule) {
  const chunks = chunksOf(state, schedule);
  return { schedule: schedule.name, csv: schedule.csv ?? '', stages: schedule.placement?.length ?? state.ranks * chunks, micro_batches: state.micro_batches, chunks,
    recompute: state.recompute, times: [state.forward, state.backward_input, state.backward_weight],
    latency: state.latency };
}

function commandLine(state, schedule) {
  const settings = settingsOf(state, schedule);
  const asked = settings.schedule === 'searched' ? ['--search'] : ['--schedule', settings.schedule];
  const isUneven = schedule.placement && settings.stages !== state.ranks * settings.chunks;
  const sizes = isUneven ? ['--stage-ranks', schedule.placement.join(',')] : ['--stages', settings.stages];
  const words = ['penstock schedule', ...asked, ...sizes, '--micro-batches', settings.micro_batches];
  if (settings.chunks !== schedule.chunks) words.push('--chunks', settings.chunks);
  if (settings.recompute !== 'none') words.push('--recompute', settings.recompute);
  if (settings.times.some((time) => time !== 1)) words.push('--times', settings.times.join(','));
  if (settings.latency > 0) words.push('--latency', settings.latency);
  return words.join(' ');
}
