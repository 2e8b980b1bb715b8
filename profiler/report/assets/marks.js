// What lies over the bars: bands of a finding's evidence, outlines of chosen, related and found bars, the selected time.

// Under the bars, so that these keep their colours.
function drawBands() {
  for (const band of state.bands) {
    if (band.end < view.from || band.start > view.to) continue;
    const x0 = Math.max(-2, xOf(band.start)), x1 = Math.min(view.width + 2, xOf(band.end));
    ctx.globalAlpha = 0.16;
    ctx.fillStyle = theme.tokens.mark;
    ctx.fillRect(x0, AXIS, Math.max(1, x1 - x0), layout.viewHeight - AXIS);
    ctx.globalAlpha = x1 - x0 > 60 ? 0.8 : 0.3;
    ctx.fillRect(x0, AXIS, 1, layout.viewHeight - AXIS);
    ctx.fillRect(x1, AXIS, 1, layout.viewHeight - AXIS);
    ctx.globalAlpha = 1;
  }
}

// Where a bar is on screen; null when its lane is folded away or out of view.
function placeOf(bar) {
  const lane = laneOf(bar), item = itemOfLane(lane);
  if (!item) return null;
  const depth = item.thin ? 0 : depthOf(lane, bar), y = screenY(item) + PAD + depth * PITCH;
  return { x0: xOf(data.start[bar]), x1: xOf(data.end[bar]), y, height: item.thin ? THIN : BAR };
}

function outline(bar, colour, thickness) {
  if (bar < 0 || data.end[bar] < view.from || data.start[bar] > view.to) return;
  const place = placeOf(bar);
  if (!place || place.y < AXIS - BAR || place.y > layout.viewHeight) return;
  const x0 = Math.max(place.x0, -4), x1 = Math.min(Math.max(place.x1, place.x0 + 3), view.width + 4);
  ctx.strokeStyle = colour;
  ctx.lineWidth = thickness;
  ctx.strokeRect(x0 - 0.5, place.y - 0.5, x1 - x0, place.height + 1);
}

function drawOutlines() {
  for (const bar of state.outlined) outline(bar, theme.tokens.mark, 2);
  for (const bar of state.related) outline(bar, theme.tokens.accent, 1.5);
  outline(state.hover, theme.tokens.text, 1);
  outline(state.selected, theme.tokens.text, 2);
}

const DRAWN_MATCHES = 4000;  // outlines in one picture; of more, every second, third ... is drawn
function drawMatches() {
  const first = lowerBound(found.reach, view.from, 0, found.reach.length), next = firstMatchFrom(view.to);
  const stride = Math.max(1, Math.ceil((next - first) / DRAWN_MATCHES));
  for (let n = first; n < next; n += stride) outline(found.bars[n], theme.tokens.match, 1.5);
}

function drawSelection() {
  if (!state.selection) return;
  const x0 = xOf(state.selection[0]), x1 = xOf(state.selection[1]);
  ctx.globalAlpha = 0.14;
  ctx.fillStyle = theme.tokens.accent;
  ctx.fillRect(x0, AXIS, x1 - x0, layout.viewHeight - AXIS);
  ctx.globalAlpha = 1;
  ctx.fillRect(x0, AXIS, 1, layout.viewHeight - AXIS);
  ctx.fillRect(x1, AXIS, 1, layout.viewHeight - AXIS);
}
