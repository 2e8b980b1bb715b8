// The strip above the plane: the whole trace, how busy the devices (without any: the host) are, and where the view is in it.

const overview = byId("overview"), overviewCtx = overview.getContext("2d");
const STRIP = 34;
let strip = null;  // the drawn density, kept until width or theme change

function density(width) {
  const drawn = data.lanes.filter((lane) => !lane.repeated && lane.last > lane.first);
  const onDevice = drawn.filter((lane) => lane.table === "task");
  const lanes = onDevice.length ? onDevice : drawn.filter((lane) => lane.depths.length > 1);
  const busy = new Float64Array(width), perPixel = Math.max(facts.latest, 1) / width;
  for (const lane of lanes) {
    const last = lane.depths[1];
    for (let i = lane.depths[0]; i < last; i += 1) {
      let x = Math.floor(data.start[i] / perPixel), from = data.start[i];
      for (; x < width && from < data.end[i]; x += 1) {
        const to = Math.min(data.end[i], (x + 1) * perPixel);
        busy[x] += (to - from) / perPixel;
        from = to;
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
  strip = { canvas, width, dark: theme.dark };
}

const overviewX = (time) => (time / Math.max(facts.latest, 1)) * view.width;

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
