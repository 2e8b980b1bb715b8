// The critical path: the bars whose length decides how long everything takes, underlined and joined from one to the next.

const path = { bars: [], shown: false };
const PATH_LINE = 3;

function loadPath() {
  if (!facts.path) return;
  const tables = decode(facts.path.table), rows = decode(facts.path.row);
  path.bars = Array.from(rows, (row, n) => barOfRow(0, facts.path.tables[tables[n]], row)).filter((bar) => bar >= 0)
    .sort((a, b) => data.start[a] - data.start[b]);
  path.shown = path.bars.length > 0;
  byId("path").hidden = !path.shown;
  setPressed("path", path.shown);
}

function drawPath() {
  if (!path.shown) return;
  ctx.fillStyle = ctx.strokeStyle = theme.tokens.mark;
  ctx.lineWidth = 1;
  let before = null;
  for (const bar of path.bars) {
    if (data.end[bar] < view.from || data.start[bar] > view.to) { before = null; continue; }
    const place = placeOf(bar);
    if (!place) continue;
    if (before && place.y === before.y && place.x1 - before.drawn < 1) continue;  // less than a pixel further: nothing to see
    ctx.fillRect(place.x0, place.y + place.height - PATH_LINE, Math.max(1, place.x1 - place.x0), PATH_LINE);
    if (before && before.y !== place.y) joinPath(before, place);
    before = { ...place, drawn: place.x1 };
  }
}

function joinPath(from, to) {
  ctx.beginPath();
  ctx.moveTo(Math.min(from.x1, to.x0), from.y + from.height - PATH_LINE / 2);
  ctx.lineTo(to.x0, to.y + to.height - PATH_LINE / 2);
  ctx.stroke();
}
