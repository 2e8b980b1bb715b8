// The plane: axis, lanes, bars. Level of detail: what is narrower than a pixel is not drawn bar by bar; one binary search finds
// the bars of a pixel, their busy time is one subtraction, and the pixel gets the colour of its longest bar as strong as it is
// busy. The work is pixels times lanes, however many bars there are.

const plane = byId("plane"), ctx = plane.getContext("2d", { alpha: false });
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";
const state = { selected: -1, related: [], hover: -1, bands: [], outlined: [], selection: null, arrows: false, cursor: null };
const widths = new Map();
let waiting = false;

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawNow(); });
}

function fitCanvas(canvas, context, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function drawNow() {
  const t = theme.tokens;
  fitCanvas(plane, ctx, view.width, layout.viewHeight);
  ctx.fillStyle = t.bg;
  ctx.fillRect(0, 0, view.width, layout.viewHeight);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  const step = tickStep();
  drawGrid(step);
  drawBands();
  for (const item of layout.items) {
    const y = screenY(item);
    if (y + item.height < AXIS || y > layout.viewHeight) continue;
    if (item.kind === "group") drawGroup(item, y);
    else {
      if (item.kind === "lane") drawLane(item, y);
      else drawCurve(ctx, item, y);
      ctx.fillStyle = t.line;
      ctx.fillRect(0, y + item.height - 1, view.width, 1);
    }
  }
  drawPath();
  drawMatches();
  drawOutlines();
  drawArrows();
  drawSelection();
  drawAxis(step);
  drawOverview();
}

function drawGrid(step) {
  ctx.fillStyle = theme.tokens.line;
  const zero = facts.window[0];
  for (let at = Math.ceil((view.from - zero) / step) * step; at + zero <= view.to; at += step) {
    ctx.fillRect(Math.round(xOf(at + zero)), AXIS, 1, layout.viewHeight - AXIS);
  }
}

function drawAxis(step) {
  const t = theme.tokens, zero = facts.window[0];
  ctx.fillStyle = t.panel;
  ctx.fillRect(0, 0, view.width, AXIS);
  ctx.fillStyle = t.line;
  ctx.fillRect(0, AXIS - 1, view.width, 1);
  ctx.textAlign = "left";
  for (let at = Math.ceil((view.from - zero) / step) * step; at + zero <= view.to; at += step) {
    const x = Math.round(xOf(at + zero));
    ctx.fillStyle = t["line-strong"];
    ctx.fillRect(x, AXIS - 7, 1, 7);
    ctx.fillStyle = t.muted;
    ctx.fillText(tickText(at, step), x + 5, AXIS / 2);
  }
  for (const band of state.bands) {
    const x0 = Math.max(0, xOf(band.start)), x1 = Math.min(view.width, Math.max(xOf(band.end), xOf(band.start) + 2));
    ctx.fillStyle = t.mark;
    if (x1 > x0) ctx.fillRect(x0, AXIS - 4, x1 - x0, 4);
  }
  if (state.selection) {
    const [from, to] = state.selection, middle = (Math.max(0, xOf(from)) + Math.min(view.width, xOf(to))) / 2;
    const text = duration(to - from), width = ctx.measureText(text).width + 12;
    ctx.fillStyle = t.accent;
    ctx.fillRect(middle - width / 2, 4, width, AXIS - 9);
    ctx.fillStyle = t.bg;
    ctx.fillText(text, middle - width / 2 + 6, AXIS / 2);
  }
}

function drawGroup(item, y) {
  ctx.fillStyle = theme.tokens.panel;
  ctx.fillRect(0, y, view.width, item.height);
  ctx.fillStyle = theme.tokens.line;
  ctx.fillRect(0, y, view.width, 1);
  ctx.fillRect(0, y + item.height - 1, view.width, 1);
}

function drawLane(item, y) {
  const { depths } = item.lane;
  if (item.thin) return drawDepth(depths[0], depths[1], y + PAD, THIN, false);
  for (let d = 0; d + 1 < depths.length; d += 1) {
    const top = y + PAD + d * PITCH;
    if (top + BAR >= AXIS && top <= layout.viewHeight) drawDepth(depths[d], depths[d + 1], top, BAR, true);
  }
}

function drawDepth(first, last, y, height, named) {
  const { start, end, sum, category, name } = data, perPixel = (view.to - view.from) / view.width;
  let run = null;  // neighbouring pixels of one colour and strength become one rectangle
  const flush = () => {
    if (!run) return;
    ctx.globalAlpha = run.strength;
    ctx.fillStyle = run.colour;
    ctx.fillRect(run.from, y, run.to - run.from, height);
    run = null;
  };
  for (let i = lowerBound(end, view.from, first, last); i < last && start[i] <= view.to;) {
    const x0 = xOf(start[i]), x1 = xOf(end[i]);
    if (x1 - x0 >= 2) {
      flush();
      drawBar(i, Math.max(x0, -4), Math.min(x1, view.width + 4), y, height, named ? name[i] : -1, category[i]);
      i += 1;
      continue;
    }
    const pixel = Math.floor(x0), until = timeAt(pixel + 1);
    let next = gallop(start, until, i, last);
    if (next <= i) next = i + 1;
    if (next - i > 1 && end[next - 1] - start[next - 1] >= 2 * perPixel) next -= 1;
    const busy = Math.min(1, (sum[next] - sum[i]) / perPixel);
    const strength = Math.ceil((0.4 + 0.6 * busy) * 8) / 8, colour = colourOf(category[longest(i, next)]);
    if (run && run.colour === colour && run.strength === strength && pixel <= run.to) run.to = pixel + 1;
    else {
      flush();
      run = { from: pixel, to: pixel + 1, colour, strength };
    }
    i = next;
  }
  flush();
  ctx.globalAlpha = 1;
}

// The longest of a pixel's bars, looked up in at most 16 of them at fixed strides, so that colours stay when the view moves.
function longest(first, next) {
  let stride = 1;
  while ((next - first) / stride > 16) stride *= 2;
  let found = first, most = -1;
  for (let i = Math.ceil(first / stride) * stride; i < next; i += stride) {
    const length = data.end[i] - data.start[i];
    if (length > most) { most = length; found = i; }
  }
  return found;
}

function drawBar(bar, x0, x1, y, height, nameId, category) {
  const colour = colourOf(category), gap = x1 - x0 > 4 ? 1 : 0;
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour;
  ctx.fillRect(x0, y, x1 - x0 - gap, height);
  if (nameId < 0 || x1 - x0 < 26) return;
  const left = Math.max(x0, 0), text = fitted(nameId, Math.min(x1, view.width) - left - 8);
  if (!text) return;
  ctx.fillStyle = theme.tokens["bar-text"];
  ctx.textAlign = "left";
  ctx.fillText(text, left + 4, y + height / 2 + 0.5);
}

// As much of a name as fits; never hands more than 200 characters to the canvas.
function fitted(nameId, room) {
  let known = widths.get(nameId);
  if (!known) {
    const text = visible(data.names[nameId], 200);
    known = { text, width: ctx.measureText(text).width };
    widths.set(nameId, known);
  }
  if (known.width <= room) return known.text;
  const fits = Math.floor(((room - 12) / known.width) * known.text.length);
  return fits >= 2 ? `${known.text.slice(0, fits)}…` : "";
}
