// Search over the names and categories of events: marks every match, counts them, steps from one to the next in time.

// reach[n]: the latest end of bars[0..n], so that the first match that reaches into the view is one binary search away.
const found = { bars: new Int32Array(0), reach: new Float64Array(0), at: -1, text: "" };

function findBars(text) {
  const wanted = text.toLowerCase(), hit = new Uint8Array(data.names.length);
  data.names.forEach((name, id) => { if (name.toLowerCase().includes(wanted)) hit[id] = 1; });
  const bars = [];
  for (const lane of data.lanes) {
    if (lane.repeated) continue;
    for (let i = lane.first; i < lane.last; i += 1) if (hit[data.name[i]] || hit[data.category[i]]) bars.push(i);
  }
  return Int32Array.from(bars).sort((a, b) => data.start[a] - data.start[b]);
}

function search(text) {
  found.text = text;
  found.bars = text.trim() ? findBars(text.trim()) : new Int32Array(0);
  found.reach = new Float64Array(found.bars.length);
  let reach = -Infinity;
  found.bars.forEach((bar, n) => { found.reach[n] = reach = Math.max(reach, data.end[bar]); });
  found.at = -1;
  sayHits();
  redraw();
}

function searchFor(text) {
  byId("query").value = text;
  search(text);
}

function sayHits() {
  const { bars, at, text } = found;
  byId("hits").textContent = !text.trim() ? "" : !bars.length ? say("match.none")
    : at < 0 ? plural(bars.length, "match") : say("match.place", { at: count(at + 1), count: count(bars.length) });
  byId("before").disabled = byId("after").disabled = !bars.length;
}

// Number of matches that start before a time.
function firstMatchFrom(time) {
  let low = 0, high = found.bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[found.bars[middle]] < time) low = middle + 1; else high = middle;
  }
  return low;
}

// The next match in the direction; the first step begins at the left edge of the view.
function stepMatch(direction) {
  const { bars } = found;
  if (!bars.length) return;
  if (found.at < 0) {
    const first = firstMatchFrom(view.from);
    found.at = direction > 0 ? first % bars.length : (first - 1 + bars.length) % bars.length;
  } else found.at = (found.at + direction + bars.length) % bars.length;
  goTo(bars[found.at]);
  sayHits();
}
