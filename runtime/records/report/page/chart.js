// chart.js -- a curve over the steps: axes, ticks, and the value under the pointer.

const CHART = { right: 12, top: 10, bottom: 34, height: 210 };
const most = (values) => values.reduce((one, other) => Math.max(one, other), -Infinity);
const least = (values) => values.reduce((one, other) => Math.min(one, other), Infinity);

// Four digits, or three and a power where there are too many noughts.
function figure(value) {
  if (value === null) return 'not finite';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  return String(Number(value.toPrecision(size >= 1000 ? 5 : 4)));
}

// About `count` values 1, 2 or 5 times a power of ten from low to high.
function ticksOf(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12) + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}

// Ticks of a logarithmic axis: powers of ten, and where these are few 2 and 5 times them.
function powersOf(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of high / low < 300 ? [1, 2, 5] : [1]) ticks.push(factor * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(6))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(6))} k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(Number(value.toPrecision(2)) === Number(value.toPrecision(1)) ? 0 : 1);
  return String(Number(value.toPrecision(6)));
}

// Where the least and the greatest value are a hundredfold apart, equal ratios are equally far apart.
function scaleOf(curve) {
  const values = curve.series.flatMap((series) => series.points.map((point) => point[1])).filter((value) => value !== null);
  let low = least(values);
  let high = most(values);
  const isLog = curve.id !== 'learning_rate' && low > 0 && high / low > 100;
  if (isLog) return { low, high, isLog, share: (value) => Math.log(value / low) / Math.log(high / low), ticks: powersOf(low, high) };
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  low = low >= 0 && low < (high - low) * 0.5 ? 0 : low - room;
  high += room;
  return { low, high, isLog, share: (value) => (value - low) / (high - low), ticks: ticksOf(low, high, 5) };
}

function steps(curve) {
  const all = curve.series.flatMap((series) => series.points.map((point) => point[0]));
  const first = least(all);
  const last = most(all);
  return first === last ? { first: first - 1, last: last + 1 } : { first, last };
}

// Pixels of a value; y grows downwards.
function placesOf(curve, width) {
  const scale = scaleOf(curve);
  const { first, last } = steps(curve);
  const left = 12 + 6.6 * most(scale.ticks.map((tick) => tickText(tick).length).concat(2));
  const inner = { width: width - left - CHART.right, height: CHART.height - CHART.top - CHART.bottom };
  return { scale, first, last, left, inner, x: (step) => left + inner.width * (step - first) / (last - first),
    y: (value) => CHART.top + inner.height * (1 - scale.share(value)) };
}

function axesMarkup(at, width) {
  const bottom = CHART.height - CHART.bottom;
  const across = at.scale.ticks.map((tick) => `<line class="grid" x1="${at.left}" x2="${width - CHART.right}" y1="${round(at.y(tick))}" y2="${round(at.y(tick))}"/>` +
    `<text x="${at.left - 6}" y="${round(at.y(tick)) + 4}" text-anchor="end">${tickText(tick)}</text>`);
  const down = ticksOf(at.first, at.last, Math.max(2, Math.floor(at.inner.width / 90))).filter(Number.isInteger).map((tick) =>
    `<line class="grid" x1="${round(at.x(tick))}" x2="${round(at.x(tick))}" y1="${bottom}" y2="${bottom + 4}"/>` +
    `<text x="${round(at.x(tick))}" y="${bottom + 16}" text-anchor="middle">${tickText(tick)}</text>`);
  return `${across.join('')}${down.join('')}<text x="${at.left + at.inner.width / 2}" y="${CHART.height - 3}" text-anchor="middle">step</text>`;
}

// A value that is not finite breaks the line.
function lineMarkup(points, at, kind = 'curve') {
  let path = '';
  let pen = 'M';
  for (const [step, value] of points) {
    if (value === null) {
      pen = 'M';
      continue;
    }
    path += `${pen}${round(at.x(step))} ${round(at.y(value))}`;
    pen = 'L';
  }
  return `<path class="${kind}" d="${path}"/>`;
}

// Of a thinned curve the extremes as a veil, and the means on it.
function seriesMarkup({ style, points, means }, at) {
  if (style === 'dots') return dotsMarkup(points, at);
  return means ? lineMarkup(points, at, 'extremes') + lineMarkup(means, at) : lineMarkup(points, at);
}

function dotsMarkup(points, at) {
  return points.filter((point) => point[1] !== null).map(([step, value]) => `<circle class="dot" cx="${round(at.x(step))}" cy="${round(at.y(value))}" r="3.5"/>`).join('');
}

function nearest(points, step) {
  return points.reduce((best, point) => (best === null || Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best), null);
}

function lastText(curve) {
  const point = curve.series[0].points.at(-1);
  return `step ${point[0]}: ${figure(point[1])}${curve.unit ? ` ${curve.unit}` : ''}`;
}

// What the pointer is at: the nearest step of the first series, and an evaluation beside it.
function show(figureElement, curve, at, step) {
  const [main, other] = curve.series;
  const point = nearest(main.points, step);
  const unit = curve.unit ? ` ${curve.unit}` : '';
  let text = `step ${point[0]}: ${figure(point[1])}${unit}`;
  const close = other && nearest(other.points, point[0]);
  if (close && Math.abs(at.x(close[0]) - at.x(point[0])) < 8) text += `; ${other.name} at step ${close[0]}: ${figure(close[1])}`;
  figureElement.querySelector('output').textContent = text;
  const x = round(at.x(point[0]));
  const svg = figureElement.querySelector('svg');
  svg.classList.add('shown');
  svg.querySelector('.at').setAttribute('x1', x);
  svg.querySelector('.at').setAttribute('x2', x);
  svg.querySelector('.mark').setAttribute('cx', x);
  svg.querySelector('.mark').setAttribute('cy', point[1] === null ? -20 : round(at.y(point[1])));
}

function listen(figureElement, curve, at) {
  const svg = figureElement.querySelector('svg');
  const move = (event) => {
    const x = event.clientX - svg.getBoundingClientRect().left;
    show(figureElement, curve, at, at.first + (x - at.left) / at.inner.width * (at.last - at.first));
  };
  svg.onpointermove = move;
  svg.onpointerdown = move;
  svg.onpointerleave = () => {
    svg.classList.remove('shown');
    figureElement.querySelector('output').textContent = lastText(curve);
  };
}

// Fills a <figure>; `restarts` are the first steps of later attempts.
function drawChart(figureElement, curve, restarts) {
  const dots = curve.series.some((series) => series.style === 'dots');
  figureElement.innerHTML = `<figcaption><span>${escaped(curve.title)} <small></small></span><output></output></figcaption>` +
    `<svg class="chart" role="img" aria-label="${escaped(curve.title)} over the steps" height="${CHART.height}"></svg>`;
  const svg = figureElement.querySelector('svg');
  const width = Math.max(svg.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(figureElement).paddingLeft), 240);
  const at = placesOf(curve, width);
  const notes = [curve.unit, at.scale.isLog ? 'logarithmic' : '', dots ? 'line: training; circles: evaluation' : ''];
  figureElement.querySelector('small').textContent = notes.filter((note) => note).join(', ');
  const marks = restarts.map(({ attempt, step }) => `<line class="restart" x1="${round(at.x(step))}" x2="${round(at.x(step))}" y1="${CHART.top}" ` +
    `y2="${CHART.height - CHART.bottom}"><title>attempt ${attempt}</title></line>`).join('');
  const drawn = curve.series.map((series) => seriesMarkup(series, at)).join('');
  svg.setAttribute('viewBox', `0 0 ${width} ${CHART.height}`);
  svg.innerHTML = `${axesMarkup(at, width)}${marks}${drawn}<line class="at" y1="${CHART.top}" y2="${CHART.height - CHART.bottom}"/><circle class="mark" r="4.5"/>`;
  figureElement.querySelector('output').textContent = lastText(curve);
  listen(figureElement, curve, at);
}
