// now.js -- the ranks at one moment: what each runs, which stashes it holds, and memory over time.

// The stashes that a rank holds at a time, oldest first, as texts of their forwards.
function heldAt(boxes, time) {
  const held = [];
  for (const box of boxes) {
    if (box.end > time) break;
    if (box.op === 'F') held.push(box);
    if (box.op === 'B' || box.op === 'I') {
      held.splice(held.findIndex((other) => other.stage === box.stage && other.micro_batch === box.micro_batch), 1);
    }
  }
  return held;
}

function running(boxes, time) {
  return boxes.find((box) => box.start <= time && time < box.end);
}

function chip(box, strengths) {
  const mix = Math.round(100 * strengths[box.stage]);
  return `<span class="chip ${box.op}" style="--mix:${mix}%">${box.micro_batch}</span>`;
}

function drawNow(place, lanes, answer, time) {
  const most = Math.max(...answer.peak_stash, 1);
  const strengths = strengthsOf(lanes);
  const over = time >= answer.makespan;
  place.innerHTML = lanes.map((lane, rank) => {
    const held = heldAt(lane.boxes, time);
    const box = running(lane.boxes, time);
    const doing = box ? `<span class="doing ${box.op}">${box.text}</span>` : `<span class="doing idle">${over ? 'done' : 'waits'}</span>`;
    return `<div class="rank"><span class="name">${lane.name}</span>${doing}` +
      `<span class="held" style="--peak:${100 * answer.peak_stash[rank] / most}%;--most:${most}">` +
      `${held.map((stash) => chip(stash, strengths)).join('')}</span>` +
      `<span class="count">${held.length} of ${answer.peak_stash[rank]}</span></div>`;
  }).join('');
}

// Steps of one rank as the points of a polyline; `flat` is where nothing is held.
function stepPoints(levels, until, x, y) {
  const points = [];
  levels.forEach(([time, held], i) => {
    if (i > 0) points.push(`${round(x(time))},${round(y(levels[i - 1][1]))}`);
    points.push(`${round(x(time))},${round(y(held))}`);
  });
  points.push(`${round(x(until))},${round(y(levels[levels.length - 1][1]))}`);
  return points.join(' ');
}

// Stashes over time on the scale of the grid above: the fullest rank as an area, the others as lines.
function drawMemory(svg, answer, until) {
  const height = 84;
  const width = Math.max(svg.parentElement.clientWidth, 280);
  const scale = until > 0 ? (width - GRID.left - GRID.right) / until : 0;
  const most = Math.max(...answer.peak_stash, 1);
  const x = (time) => GRID.left + time * scale;
  const y = (held) => height - 6 - (height - 16) * held / most;
  const full = answer.peak_stash.indexOf(Math.max(...answer.peak_stash));
  const lines = answer.stash.map((levels, rank) => {
    const points = stepPoints(levels, answer.makespan, x, y);
    return rank === full ? `<polygon class="area" points="${x(0)},${y(0)} ${points} ${x(answer.makespan)},${y(0)}"/>`
      : `<polyline class="level" points="${points}"/>`;
  });
  svg.innerHTML = `<text class="name" x="${GRID.left - 6}" y="${y(most) + 4}">${most}</text><text class="name" x="${GRID.left - 6}" y="${y(0)}">0</text>` +
    `<line class="axis" x1="${GRID.left}" x2="${x(until)}" y1="${y(0)}" y2="${y(0)}"/>${lines[full]}` +
    `${lines.filter((_, rank) => rank !== full).join('')}<rect class="veil" y="0" height="${height}"/><line class="cursor" y1="0" y2="${height}"/>`;
  svg.setAttribute('aria-label', `stashes held over time, at most ${most}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  svg.dataset.scale = scale;
  svg.dataset.until = until;
}
