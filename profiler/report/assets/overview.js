// The strip above the plane: the whole trace, how busy the devices (without any: the host) are, and where the view is in it.
// Where the measured window is a small part of the trace, what lies before and after it is drawn narrower, beyond a dashed line.

const overview = byId("overview"), overviewCtx = overview.getContext("2d");
const STRIP = 34;
const SMALL = 0.5, EDGE = 0.08;  // share of the trace below which a window is widened, and of the strip that is left to each side
let strip = null;  // the drawn density, kept until width or theme change

// Corners [time, share of the strip] of the way from time to place, in order of both.
let bends = null;
function corners() {
  return bends ??= bent();
}

function bent() {
  const [from, to] = facts.window, latest = Math.max(facts.latest, 1);
  const inside = [[from, EDGE], [to, 1 - EDGE]].filter(([time]) => time > 0 && time < latest);
  return to - from < SMALL * latest ? [[0, 0], ...inside, [latest, 1]] : [[0, 0], [latest, 1]];
}

// From one side of the corners (0: time, 1: share) to the other.
function along(value, from) {
  const known = corners(), last = known.length - 1, n = known.findIndex((corner, i) => i === last || value < known[i + 1][from]);
  const a = known[Math.min(n, last - 1)], b = known[Math.min(n, last - 1) + 1];
  return a[1 - from] + ((value - a[from]) / (b[from] - a[from])) * (b[1 - from] - a[1 - from]);
}

const overviewX = (time) => along(time, 0) * view.width;
const overviewTime = (x) => along(x / view.width, 1);

function density(width) {
  const drawn = data.lanes.filter((lane) => !lane.repeated && lane.last > lane.first);
  const onDevice = drawn.filter((lane) => lane.table === "task");
  const lanes = onDevice.length ? onDevice : drawn.filter((lane) => lane.depths.length > 1);
  const busy = new Float64Array(width), edges = Float64Array.from({ length: width + 1 }, (_, x) => along(x / width, 1));
  for (const lane of lanes) {
    const last = lane.depths[1];
    for (let i = lane.depths[0]; i < last; i += 1) {
      let x = Math.max(0, Math.floor(along(data.start[i], 0) * width)), from = data.start[i];
      for (; x < width && from < data.end[i]; x += 1) {
        const to = Math.min(data.end[i], edges[x + 1]);
        if (to > from) busy[x] += (to - from) / (edges[x + 1] - edges[x]);
        from = Math.max(from, to);
      }
    }
  }
  return busy;
}

function drawStrip(width) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  fitCanvas(canvas, context, width, STRIP);
  context.fillStyle = theme.tokens.lane;
  context.fillRect(0, 0, width, STRIP);
  const busy = density(width), most = busy.reduce((a, b) => Math.max(a, b), 1);
  context.fillStyle = theme.tokens.muted;
  busy.forEach((share, x) => context.fillRect(x, STRIP - 3 - (STRIP - 8) * (share / most), 1, (STRIP - 8) * (share / most)));
  context.strokeStyle = theme.tokens.muted;
  context.setLineDash([2, 3]);
  for (const [, share] of corners().slice(1, -1)) context.strokeRect(Math.round(share * width) + 0.5, 0, 0, STRIP);
  strip = { canvas, width, dark: theme.dark };
}

function drawOverview() {
  const width = view.width;
  if (!strip || strip.width !== width || strip.dark !== theme.dark) drawStrip(width);
  fitCanvas(overview, overviewCtx, width, STRIP);
  overviewCtx.drawImage(strip.canvas, 0, 0, width, STRIP);
  for (const band of state.bands) {
    overviewCtx.fillStyle = theme.tokens.mark;
    overviewCtx.fillRect(overviewX(band.start), 0, Math.max(2, overviewX(band.end) - overviewX(band.start)), 4);
  }
  const x0 = Math.max(0, overviewX(view.from)), x1 = Math.min(width, overviewX(view.to));
  overviewCtx.fillStyle = theme.tokens.bg;
  overviewCtx.globalAlpha = 0.62;
  overviewCtx.fillRect(0, 0, x0, STRIP);
  overviewCtx.fillRect(x1, 0, width - x1, STRIP);
  overviewCtx.globalAlpha = 1;
  overviewCtx.strokeStyle = theme.tokens.accent;
  overviewCtx.lineWidth = 1.5;
  overviewCtx.strokeRect(x0 + 0.75, 0.75, Math.max(3, x1 - x0 - 1.5), STRIP - 1.5);
  byId("readout").textContent = duration(view.to - view.from);
}
