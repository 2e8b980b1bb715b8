// Memory and counter lanes: a value that holds until its next point. Per pixel the highest value is drawn, so that a peak of a
// microsecond is still there when an hour is on screen.

const valueText = (curve, value) => (curve.unit === "B" ? size(value) : `${Number(value.toPrecision(4)).toLocaleString("en-US")} ${curve.unit}`.trim());

const curveLabel = (curve) => (curve.series.length ? say("curve.peak", { value: valueText(curve, curve.most) }) : "");

function drawCurve(ctx, item, y) {
  const { curve } = item, height = item.thin ? THIN : CURVE, top = y + PAD + 2, bottom = top + height - 4;
  const scale = (bottom - top) / ((curve.most - curve.least) || 1);
  curve.series.forEach(({ values }, number) => {
    const path = tracePeaks(curve.time, values, (value) => bottom - (value - curve.least) * scale);
    if (!path.length) return;
    const colour = number === 0 ? theme.tokens.accent : theme.tokens.muted;
    if (number === 0) {
      ctx.globalAlpha = 0.22;
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.moveTo(path[0][0], bottom);
      for (const [x, at] of path) ctx.lineTo(x, at);
      ctx.lineTo(path.at(-1)[0], bottom);
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    path.forEach(([x, at], n) => (n ? ctx.lineTo(x, at) : ctx.moveTo(x, at)));
    ctx.stroke();
  });
}

function tracePeaks(time, values, yOf) {
  const path = [];
  let i = Math.max(0, lowerBound(time, view.from, 0, time.length) - 1);
  if (!time.length || time[i] > view.to) return path;
  let last = values[i];
  path.push([Math.max(0, xOf(time[i])), yOf(last)]);
  for (i += 1; i < time.length && time[i] <= view.to;) {
    const x = Math.floor(xOf(time[i])), next = gallop(time, timeAt(x + 1), i, time.length);
    let most = values[i];
    for (let k = i + 1; k < next; k += 1) if (values[k] > most) most = values[k];
    path.push([x, yOf(last)], [x, yOf(most)]);
    last = values[next - 1];
    if (last !== most) path.push([x + 1, yOf(last)]);
    i = Math.max(next, i + 1);
  }
  path.push([i < time.length ? view.width : Math.min(view.width, Math.max(xOf(facts.latest), path.at(-1)[0])), yOf(last)]);
  return path;
}

function curveAt(curve, time) {
  const i = lowerBound(curve.time, time + 1e-6, 0, curve.time.length) - 1;
  return i < 0 ? null : curve.series.map(({ name, values }) => [name, valueText(curve, values[i])]);
}
