// memory.js -- what each rank has in use over a recorded step: measured as an area, predicted as a line.

const MOST_MEMORY_CURVES = 16;
const MEMORY = { left: 58, right: 6, top: 6, bottom: 18, height: 110 };

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes > 0 ? Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

// [[milliseconds, bytes]] after each instruction, in the order of the time. Sums end at any time, and say nothing.
function bytesOver(rank) {
  return rank.boxes.filter(([name, , , bytes]) => bytes !== undefined && !name.startsWith('RED')).map(([, start, length, bytes]) => [start + length, bytes]);
}

// Steps: what an instruction leaves holds until the next one ends.
function stepsPath(points, x, y) {
  return points.map(([time, bytes], i) => (i === 0 ? `M${round(x(0))} ${round(y(bytes))}H${round(x(time))}` : `H${round(x(time))}V${round(y(bytes))}`)).join('');
}

// Each curve over its own length: where the plan was wrong about the time, the shapes can still be compared.
function memoryMarkup(curves, until, highest, width) {
  const inner = { width: width - MEMORY.left - MEMORY.right, height: MEMORY.height - MEMORY.top - MEMORY.bottom };
  const bottom = MEMORY.top + inner.height;
  const x = (time, length = until) => MEMORY.left + inner.width * time / length;
  const y = (bytes) => bottom - inner.height * bytes / highest;
  const lines = [0, 0.5, 1].map((share) => `<line class="grid" x1="${MEMORY.left}" x2="${width - MEMORY.right}" y1="${round(y(share * highest))}" y2="${round(y(share * highest))}"/>` +
    `<text x="${MEMORY.left - 5}" y="${round(y(share * highest)) + 4}" text-anchor="end">${bytesText(share * highest)}</text>`);
  const ticks = ticksOf(0, until, 4).map((time) => `<text x="${round(x(time))}" y="${MEMORY.height - 4}" text-anchor="middle">${tickText(time)}${time === 0 ? ' ms' : ''}</text>`);
  const drawn = curves.map(({ name, points, length }) => {
    if (points.length === 0) return '';
    const path = stepsPath(points, (time) => x(time, length), y);
    return name === 'predicted' ? `<path class="expected" d="${path}"/>` : `<path class="in-use" d="${path}V${bottom}H${MEMORY.left}Z"/>`;
  });
  return lines.join('') + ticks.join('') + drawn.join('');
}

// Of a step of the timeline's data.
function drawMemory({ step, parts }) {
  const place = document.getElementById('memory-curves');
  if (place === null) return;
  document.getElementById('memory-step').textContent = step;
  const ranks = most(parts.map((part) => part.ranks.length));
  const shown = Math.min(ranks, MOST_MEMORY_CURVES);
  const all = Array.from({ length: shown }, (_, n) => Math.floor(n * ranks / shown)).map((rank) =>
    parts.filter((part) => part.ranks[rank] !== undefined).map((part) => ({ name: part.name, rank: part.ranks[rank].name, points: bytesOver(part.ranks[rank]), length: lengthOf(part) })));
  const until = lengthOf(parts[0]);
  const highest = most(all.flat().flatMap(({ points }) => points.map(([, bytes]) => bytes)));
  place.innerHTML = all.map((curves) => `<figure><figcaption><span>${escaped(laneName(curves[0].rank))}</span><output>${curves.map(({ name, points }) =>
    `${escaped(name)} at most ${bytesText(most(points.map(([, bytes]) => bytes).concat(0)))}`).join('; ')}</output></figcaption><svg class="chart" role="img" ` +
    `aria-label="Memory of ${escaped(curves[0].rank)} over the step" height="${MEMORY.height}"></svg></figure>`).join('');
  for (const [i, svg] of place.querySelectorAll('svg').entries()) {
    const width = Math.max(svg.clientWidth, 200);
    svg.setAttribute('viewBox', `0 0 ${width} ${MEMORY.height}`);
    svg.innerHTML = memoryMarkup(all[i], until, highest, width);
  }
  if (shown < ranks) document.getElementById('memory-note').textContent = `${shown} of ${ranks} ranks, spread evenly.`;
}
