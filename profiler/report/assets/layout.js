// Lanes -> places on the plane: groups, lanes, curves from top to bottom, what is folded, what is scrolled away.

const AXIS = 26, GROUP = 24, BAR = 17, PITCH = 19, PAD = 4, THIN = 10, CURVE = 46;
const layout = { items: [], byLane: new Map(), height: 0, scroll: 0, viewHeight: 400, foldedGroups: new Set(), folded: new Set(), foldEmpty: false };

function startLayout() {
  for (const lane of data.lanes) if (lane.folded) layout.folded.add(keyOf(lane));
}

const keyOf = (thing) => `${thing.group}\u0000${thing.title}`;

function groups() {
  const made = new Map();
  for (const lane of data.lanes) made.has(lane.group) ? made.get(lane.group).push({ lane }) : made.set(lane.group, [{ lane }]);
  for (const curve of data.curves) made.has(curve.group) ? made.get(curve.group).push({ curve }) : made.set(curve.group, [{ curve }]);
  return made;
}

function emptyInView(entry) {
  if (entry.curve) return entry.curve.time.length === 0 || entry.curve.time[0] > view.to || entry.curve.most === entry.curve.least;
  const { depths } = entry.lane;
  for (let d = 0; d + 1 < depths.length; d += 1) {
    const i = lowerBound(data.end, view.from, depths[d], depths[d + 1]);
    if (i < depths[d + 1] && data.start[i] <= view.to) return false;
  }
  return true;
}

function arrange() {
  const items = [];
  let y = 0;
  for (const [name, entries] of groups()) {
    const folded = layout.foldedGroups.has(name);
    items.push({ kind: "group", name, y, height: GROUP, folded });
    y += GROUP;
    if (folded) continue;
    for (const entry of entries) {
      const thing = entry.lane ?? entry.curve;
      if (layout.foldEmpty && emptyInView(entry)) continue;
      const thin = layout.folded.has(keyOf(thing));
      const rows = entry.lane ? Math.max(1, entry.lane.depths.length - 1) : 1;
      const height = thin ? THIN + PAD + 4 : entry.curve ? CURVE + 2 * PAD : rows * PITCH + 2 * PAD;
      items.push({ kind: entry.lane ? "lane" : "curve", ...entry, y, height, thin, title: thing.title });
      y += height;
    }
    y += 4;
  }
  layout.items = items;
  layout.byLane = new Map(items.filter((item) => item.lane).map((item) => [item.lane, item]));
  layout.height = y + 8;
  byId("spacer").style.height = `${layout.height + AXIS}px`;
  // The report gives the timeline no more room than its lanes need: overview, axis and a little air.
  document.documentElement.style.setProperty("--lanes", `${layout.height + AXIS + 48}px`);
  scrollTo_(layout.scroll);
  drawLabels();
}

function scrollTo_(top) {
  layout.scroll = Math.max(0, Math.min(top, layout.height + AXIS - layout.viewHeight));
  if (Math.abs(byId("scroll").scrollTop - layout.scroll) > 1) byId("scroll").scrollTop = layout.scroll;
  byId("labels").style.setProperty("--scroll", `${AXIS - layout.scroll}px`);
}

const screenY = (item) => AXIS + item.y - layout.scroll;

const itemOfLane = (lane) => layout.byLane.get(lane);

// Makes a lane visible: unfolds what hides it, scrolls as little as needed.
function reveal(lane) {
  layout.foldedGroups.delete(lane.group);
  layout.folded.delete(keyOf(lane));
  let item = itemOfLane(lane);
  if (!item || item.thin) { arrange(); item = itemOfLane(lane); }
  if (!item) return;
  const top = screenY(item);
  if (top < AXIS) scrollTo_(item.y - 8);
  else if (top + item.height > layout.viewHeight) scrollTo_(item.y + item.height + AXIS + 8 - layout.viewHeight);
}

function drawLabels() {
  const inner = element("div", { class: "labels-inner" });
  for (const item of layout.items) {
    const style = `top:${item.y}px;height:${item.height}px`;
    if (item.kind === "group") {
      inner.append(element("button", { class: "group", style, text: visible(item.name, 60), "aria-expanded": String(!item.folded),
        click: () => { toggle(layout.foldedGroups, item.name); } }));
      continue;
    }
    const thing = item.lane ?? item.curve;
    const extra = item.curve ? curveLabel(item.curve) : "";
    const label = element("button", { class: `lane${item.thin ? " thin" : ""}`, style, title: visible(item.title, 300), "aria-expanded": String(!item.thin),
      click: () => { toggle(layout.folded, keyOf(thing)); } },
      element("span", { text: visible(item.title, 80) }), extra && !item.thin ? element("small", { text: extra }) : null);
    inner.append(label);
  }
  byId("labels").replaceChildren(inner);
}

function toggle(set, key) {
  if (!set.delete(key)) set.add(key);
  arrange();
  redraw();
}
