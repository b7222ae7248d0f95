// report.js -- draws what the page's data say, again whenever the page gets another width.

const shown = JSON.parse(document.getElementById('data').textContent);
const charts = document.querySelector('.charts');
const redrawTimeline = prepareTimeline(shown.timeline);

function describeThinning() {
  const thin = shown.curves.filter((curve) => curve.series.some((series) => series.thinned));
  if (thin.length === 0) return;
  document.getElementById('curves-note').textContent = `Thinned: of ${thin[0].steps} steps each curve has ${thin[0].series[0].points.length} values, ` +
    'the least and the greatest of each stretch (pale), and the means of longer ones. metrics.jsonl has all.';
}

function drawAll() {
  shown.curves.forEach((curve, i) => drawChart(charts.children[i], curve, shown.attempts));
  redrawTimeline();
}

if (charts !== null) {
  charts.innerHTML = shown.curves.map((curve) => `<figure id="chart-${curve.id}"></figure>`).join('');
  describeThinning();
}
drawAll();
let drawnWidth = document.body.clientWidth;
addEventListener('resize', () => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  drawAll();
});
const log = document.getElementById('log');
if (log !== null) log.scrollTop = log.scrollHeight;  // its last line
document.body.dataset.ready = 'yes';
