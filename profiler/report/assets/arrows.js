// Arrows from a launch on the host to its task on the device, joined by correlation: those of the chosen bar always, those of
// everything in view when switched on (the first 300 whose launch is in view as well).

function drawArrow(from, to) {
  const a = placeOf(from), b = placeOf(to);
  if (!a || !b) return;
  const x0 = Math.min(a.x1, Math.max(a.x0, b.x0)), y0 = a.y + a.height / 2, x1 = b.x0, y1 = b.y + b.height / 2;
  if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > view.width || Math.max(y0, y1) < AXIS) return;
  const bend = Math.max(12, Math.min(80, Math.abs(x1 - x0) / 2));
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1 + 1, y1);
  ctx.lineTo(x1 - 6, y1 - 3.5);
  ctx.lineTo(x1 - 6, y1 + 3.5);
  ctx.fill();
}

// A launch comes first: the bar on the host is the tail, the task the head.
function drawArrows() {
  ctx.strokeStyle = ctx.fillStyle = theme.tokens.accent;
  ctx.lineWidth = 1.25;
  if (state.arrows) for (const [from, to] of launchesInView()) drawArrow(from, to);
  if (state.selected < 0) return;
  ctx.strokeStyle = ctx.fillStyle = theme.tokens.text;
  const onHost = (bar) => laneOf(bar).table === "api";
  for (const other of state.related) {
    if (onHost(state.selected) && !onHost(other)) drawArrow(state.selected, other);
    else if (!onHost(state.selected) && onHost(other)) drawArrow(other, state.selected);
  }
}

const ARROWS = 300;
function launchesInView() {
  const pairs = [];
  for (const item of layout.items) {
    if (item.kind !== "lane" || item.lane.table !== "task" || item.lane.repeated || item.thin) continue;
    const own = column(tableOf(item.lane), "correlation");
    if (!own) continue;
    const launches = launchTable(item.lane.part);
    for (let d = 0; d + 1 < item.lane.depths.length; d += 1) {
      const last = item.lane.depths[d + 1];
      for (let i = lowerBound(data.end, view.from, item.lane.depths[d], last); i < last && data.start[i] <= view.to; i += 1) {
        const launch = launches.get(own[data.row[i]]);
        // A launch off screen would only be a line across everything.
        if (launch !== undefined && data.end[launch] >= view.from && data.start[launch] <= view.to) pairs.push([launch, i]);
        if (pairs.length >= ARROWS) return pairs;
      }
    }
  }
  return pairs;
}

// correlation -> the innermost call that carries it.
const launchTables = new Map();
function launchTable(part) {
  if (!launchTables.has(part)) {
    const made = new Map(), ids = column(data.tables.get(`${part}:api`), "correlation");
    for (const lane of data.lanes) {
      if (!ids || lane.part !== part || lane.table !== "api") continue;
      for (let i = lane.first; i < lane.last; i += 1) if (ids[data.row[i]] >= 0) made.set(ids[data.row[i]], i);
    }
    launchTables.set(part, made);
  }
  return launchTables.get(part);
}
