// main.js -- ties the page together: one state, everything drawn from it.

const element = (id) => document.getElementById(id);
const data = JSON.parse(element('data').textContent);
const CONTROLS = ['schedule', 'compare', 'ranks', 'micro_batches', 'chunks', 'recompute', 'forward', 'backward_input',
  'backward_weight', 'latency'];
const SECONDS_TO_PLAY = 12;

// A schedule of the user's own stands in the menu beside the library's.
if (data.settings.csv !== '') {
  data.schedules.push({ name: data.settings.schedule, csv: data.settings.csv, chunks: data.settings.chunks, chunks_vary: false,
    placement: data.answer.rank_of_stage });
}
const menuEntry = (name) => data.schedules.find((schedule) => schedule.name === name);

// With the costs of a file the answers came with the page, and what they are of is not the reader's to choose.
if (data.fixed) data.schedules = data.schedules.filter(({ name }) => name in data.fixed.answers);
const answerTo = data.fixed ? ({ schedule }) => data.fixed.answers[schedule] : answersFrom(data.grid, data.settings, data.answer);
let state = initialState(data, menuEntry(data.settings.schedule));
let shown = null;     // what is drawn: {answer, lanes, other: {answer, lanes} or null, until}
let share = 0.5;      // of the time shown, where the cursor stands
let followed = -1;
let player = 0;

const answerFor = (name) => answerTo(settingsOf(state, menuEntry(name)));

function fillMenus() {
  const options = data.schedules.map(({ name }) => `<option>${escaped(name)}</option>`).join('');
  element('schedule').innerHTML = options;
  element('compare').innerHTML = `<option value="">nothing</option>${options}`;
}

// Controls show the state; their outputs say it in words.
function showControls() {
  for (const id of CONTROLS) element(id).value = state[id];
  const schedule = menuEntry(state.schedule);
  const chunks = chunksOf(state, schedule);
  element('chunks').value = chunks;
  element('chunks').disabled = !schedule.chunks_vary;
  for (const id of ['ranks', 'micro_batches']) element(id).disabled = schedule.csv !== undefined;
  for (const output of element('controls').querySelectorAll('output')) {
    const id = output.htmlFor[0];
    output.value = id === 'chunks' ? chunks : number(Number(state[id]));
  }
}

function drawPicture(letter, name, { answer, lanes }, until) {
  element(`name-${letter}`).textContent = name;
  const svg = element(`grid-${letter}`);
  svg.setAttribute('aria-label', `${name}: makespan ${number(answer.makespan)}, bubble ${percent(answer.makespan_bubble, answer.makespan)}`);
  drawGrid(svg, lanes, { until });
  follow(svg, followed);
}

function drawPictures() {
  const { answer, other, until } = shown;
  element('other').hidden = other === null;
  drawPicture('a', state.schedule, shown, until);
  if (other) drawPicture('b', state.compare, other, until);
  drawMemory(element('memory'), answer, until);
  showTime();
}

function showTime() {
  const now = share * shown.until;
  element('time').max = shown.until;
  element('time').value = now;
  document.querySelector('output[for=time]').value = `${number(Math.round(now * 100) / 100)} of ${number(shown.until)}`;
  for (const id of ['grid-a', 'memory', ...(shown.other ? ['grid-b'] : [])]) moveCursor(element(id), now);
  drawNow(element('now'), shown.lanes, shown.answer, now);
}

function showFollowed() {
  const slider = element('follow');
  slider.max = shown.answer.micro_batches - 1;
  followed = Math.min(followed, shown.answer.micro_batches - 1);
  slider.value = followed;
  document.querySelector('output[for=follow]').value = followed < 0 ? 'none' : `micro-batch ${followed}`;
  for (const id of ['grid-a', ...(shown.other ? ['grid-b'] : [])]) follow(element(id), followed);
}

function say(id, sentence) {
  element(id).textContent = sentence;
  element(id).hidden = sentence === '';
}

// Whether it is what was searched, as the bound is.
const isFound = (name, answer) => name === data.settings.schedule && answer.path !== undefined;
const withLanes = (name, answer) => ({ answer, lanes: lanesOf(answer, isFound(name, answer) ? data.limiting_ranks : []) });

// Everything anew from the state. What cannot be answered is said, and the last picture stays, faded.
function update() {
  showControls();
  const answer = answerFor(state.schedule);
  const compared = state.compare === '' ? null : answerFor(state.compare);
  document.body.classList.toggle('stale', answer.error !== undefined);
  say('problem', [answer.error, compared?.error].filter(Boolean).join(' '));
  element('about').textContent = menuEntry(state.schedule).about ?? '';
  element('command').textContent = data.fixed ? `penstock schedule --search --costs ${data.fixed.costs_file}`
    : commandLine(state, menuEntry(state.schedule));
  if (answer.error) return;
  const other = compared && !compared.error ? withLanes(state.compare, compared) : null;
  shown = { ...withLanes(state.schedule, answer), other, until: Math.max(answer.makespan, other?.answer.makespan ?? 0) };
  drawFigures(element('figures'), answer);
  say('bound', isFound(state.schedule, answer) ? data.bound : '');
  const lanes = [...shown.lanes, ...(other?.lanes ?? [])];
  drawLegend(element('legend'), new Set(lanes.flatMap((lane) => lane.boxes.map((box) => box.op))), lanes.some((lane) => lane.boxes.some((box) => box.limits)));
  drawPictures();
  showFollowed();
  scheduleTable();
}

// The table asks for all schedules, so it waits until the reader rests.
let tableTimer = 0;
function scheduleTable() {
  clearTimeout(tableTimer);
  tableTimer = setTimeout(() => {
    drawTable(element('table'), data.schedules.map(({ name }) => ({ name, answer: answerFor(name) })), state.schedule);
    element('all').hidden = false;
  }, 120);
}

function choose(changes) {
  state = { ...state, ...changes };
  writeAddress(state);
  update();
}

function stop() {
  cancelAnimationFrame(player);
  player = 0;
  element('play').setAttribute('aria-pressed', 'false');
  element('play').innerHTML = '&#9654; Play';
}

function play() {
  if (share >= 1) share = 0;
  element('play').setAttribute('aria-pressed', 'true');
  element('play').innerHTML = '&#10073;&#10073; Pause';
  let last = performance.now();
  const frame = (instant) => {
    share = Math.min(share + Math.max(instant - last, 0) / 1000 / SECONDS_TO_PLAY, 1);
    last = instant;
    showTime();
    if (share >= 1) stop();
    else player = requestAnimationFrame(frame);
  };
  player = requestAnimationFrame(frame);
}

function listenToControls() {
  element('controls').addEventListener('submit', (event) => event.preventDefault());
  element('controls').addEventListener('input', ({ target }) => {
    choose({ [target.id]: target.type === 'range' ? Number(target.value) : target.value });
  });
  element('table').addEventListener('click', ({ target }) => {
    if (target.dataset.schedule) choose({ schedule: target.dataset.schedule });
  });
  window.addEventListener('hashchange', () => {
    state = readAddress({ ...initialState(data, menuEntry(data.settings.schedule)), schedule: state.schedule }, data.schedules);
    update();
  });
}

function listenToTime() {
  element('play').addEventListener('click', () => (player ? stop() : play()));
  element('time').addEventListener('input', ({ target }) => {
    stop();
    share = shown.until > 0 ? Number(target.value) / shown.until : 0;
    showTime();
  });
  element('follow').addEventListener('input', ({ target }) => {
    followed = Number(target.value);
    showFollowed();
  });
  for (const id of ['grid-a', 'grid-b']) {
    element(id).addEventListener('click', (event) => {
      const microBatch = Number(event.target.dataset?.m ?? -1);
      followed = microBatch === followed ? -1 : microBatch;
      showFollowed();
    });
  }
  window.addEventListener('resize', () => {
    drawPictures();
    showFollowed();
    showTrace();
  });
}

let trace = null;

function showTrace() {
  if (trace) drawTrace(element('trace'), { figures: element('trace-figures'), legend: element('trace-legend') }, trace, Number(element('step').value));
}

async function openTrace(file) {
  try {
    trace = readTrace(await file.text());
    say('trace-problem', '');
  } catch (error) {
    trace = null;
    element('trace-figures').innerHTML = element('trace-legend').innerHTML = '';
    say('trace-problem', `${file.name}: ${error.message}`);
  }
  element('trace').toggleAttribute('hidden', trace === null);
  element('step-label').hidden = trace === null || trace.steps.length < 2;
  element('step').innerHTML = (trace?.steps ?? []).map((step) => `<option>${step}</option>`).join('');
  showTrace();
}

function listenToFiles() {
  element('file').addEventListener('change', ({ target }) => target.files.length > 0 && openTrace(target.files[0]));
  element('step').addEventListener('change', showTrace);
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length === 0) return;
    openTrace(event.dataTransfer.files[0]);
    element('traces').scrollIntoView();
  });
}

// The sliders reach the sizes that are in the page; the settings it was made for may be larger.
function limitSliders(grid) {
  for (const part of document.querySelectorAll('.free')) part.hidden = data.fixed !== null;
  if (grid === null) return;
  for (const id of ['ranks', 'micro_batches', 'chunks']) element(id).max = Math.max(grid[id], state[id]);
}

function start() {
  fillMenus();
  limitSliders(data.grid);
  listenToControls();
  listenToTime();
  listenToFiles();
  update();  // what the page was made for, so that there is a picture even where the address asks for what has none
  state = readAddress(state, data.schedules);
  update();
  document.body.dataset.ready = 'yes';
}

start();
