// What lies under the pointer.

// {item, bar, count}: the bar at a place of the plane and how many share its pixel; {item} for a curve; null for nothing.
function pick(x, y) {
  if (y < AXIS) return null;
  const item = layout.items.find((i) => y >= screenY(i) && y < screenY(i) + i.height);
  if (!item || item.kind === "group") return null;
  if (item.kind === "curve") return { item, bar: -1, count: 0 };
  const { depths } = item.lane;
  const depth = item.thin ? 0 : Math.floor((y - screenY(item) - PAD) / PITCH);
  if (depth < 0 || depth + 1 >= depths.length) return null;
  const reach = 2, from = timeAt(x - reach), to = timeAt(x + reach);
  const first = lowerBound(data.end, from, depths[depth], depths[depth + 1]);
  const next = lowerBound(data.start, to, first, depths[depth + 1]);
  if (next <= first) return null;
  const at = timeAt(x);
  let bar = -1;
  for (let i = first; i < Math.min(next, first + 64); i += 1) if (data.start[i] <= at && data.end[i] >= at) bar = i;
  if (bar < 0) bar = longest(first, next);
  return { item, bar, count: next - first };
}

const tip = byId("tip");

function showTip(hit, x, y, pageX, pageY) {
  if (!hit) return hideTip();
  const lines = hit.bar >= 0 ? barLines(hit) : curveLines(hit, timeAt(x));
  if (!lines.length) return hideTip();
  tip.replaceChildren(element("strong", { text: lines[0] }), ...lines.slice(1).map((text) => element("span", { text })));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(pageX + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${pageY + 18 + box.height > innerHeight ? pageY - box.height - 12 : pageY + 18}px`;
}

function hideTip() { tip.hidden = true; }

function barLines({ item, bar, count: near }) {
  const name = data.names[data.name[bar]], category = data.names[data.category[bar]];
  const lines = [visible(name, 120) || say("name.none"),
    say("tip.begins", { duration: duration(data.end[bar] - data.start[bar]), start: clock(data.start[bar]) })];
  if (category !== name) lines.push(visible(category, 80));
  const bytes = column(tableOf(item.lane), "bytes")?.[data.row[bar]] ?? -1;
  if (bytes >= 0) lines.push(rateText(bytes, data.end[bar] - data.start[bar]));
  if (near > 1 && data.end[bar] - data.start[bar] < 2 * ((view.to - view.from) / view.width)) {
    lines.push(say("tip.longest", { events: plural(near, "event") }));
  }
  return lines;
}

function curveLines({ item }, time) {
  const values = curveAt(item.curve, time);
  return values ? [visible(item.title, 80), ...values.map(([name, text]) => (name === "value" ? text : `${name} ${text}`)), say("tip.at", { time: clock(time) })] : [];
}

const rateText = (bytes, ns) => (ns > 0 ? `${size(bytes)}, ${(bytes / ns).toFixed(bytes / ns < 10 ? 2 : 1)} GB/s` : size(bytes));

// A time as the axis counts it, in full.
const clock = (time) => tickText(time - facts.window[0], Math.min(1e3, tickStep()));
