// The details panel: everything known about the chosen event, its launch and its tasks.

const HIDDEN = new Set(["ready", "kernel", "ok"]);
const BYTES = new Set(["bytes", "allocated", "reserved"]);

function choose(bar) {
  state.selected = bar;
  state.related = bar >= 0 ? relatedTo(bar) : [];
  if (bar >= 0) {
    renderDetails(bar);
    openTab("details");
  } else renderDetails(-1);
  redraw();
}

// Goes to a bar: reveals its lane, and moves the view when the bar is outside or too small to see.
function goTo(bar) {
  reveal(laneOf(bar));
  const start = data.start[bar], end = data.end[bar], span = view.to - view.from;
  if (end < view.from || start > view.to || end - start < span / 400) {
    const wanted = Math.max((end - start) * 12, Math.min(span, 2e5)), middle = (start + end) / 2;
    fly(middle - wanted / 2, middle + wanted / 2);
  }
  choose(bar);
}

function valueOf(detail, name, raw) {
  if (detail.kind === "text") return data.names[raw] ?? "";
  if (detail.kind === "code") return raw < 0 ? "" : (detail.texts[raw] ?? String(raw)).replaceAll("_", " ");
  if (Number.isNaN(raw) || (raw < 0 && detail.form !== "real")) return "";
  if (BYTES.has(name)) return `${size(raw)}${raw >= 1024 ? ` (${count(raw)} B)` : ""}`;
  if (name === "blocking") return say(raw ? "yes" : "no");
  return detail.form !== "int" ? Number(raw.toPrecision(7)).toString() : String(raw);
}

function renderDetails(bar) {
  const box = byId("details");
  if (bar < 0) return box.replaceChildren(element("p", { class: "empty-note", text: say("empty.details") }));
  const lane = laneOf(bar), table = tableOf(lane), row = data.row[bar], start = data.start[bar], end = data.end[bar];
  const name = data.names[data.name[bar]];
  const pairs = [[say("detail.lane"), lane.group + say("comma") + lane.title], [say("detail.duration"), `${duration(end - start)} (${count(end - start)} ns)`],
    [say("detail.start"), clock(start)], [say("detail.end"), clock(end)]];
  for (const [key, detail] of Object.entries(table.columns)) {
    if (HIDDEN.has(key)) continue;
    const text = valueOf(detail, key, column(table, key)[row]);
    if (text !== "") pairs.push([key.replaceAll("_", " "), text]);
  }
  const ready = column(table, "ready");
  if (ready && lane.table === "task" && facts.parts.length === 1) {
    const wait = start + facts.base - ready[row];
    if (wait > 0) pairs.push([say("detail.waited"), say("detail.waited.text", { duration: duration(wait) })]);
  }
  const list = element("dl");
  for (const [key, text] of pairs) list.append(element("dt", { text: key }), key === "stack"
    ? element("dd", { class: "sites", text: text.split("\n").map((frame) => visible(frame)).join("\n") })
    : element("dd", { text: visible(text) }));
  fill(box,
    element("h2", { class: "event-name", text: visible(name) || say("name.none") }),
    element("p", { class: "swatch-line" }, swatch(data.category[bar]), element("span", { text: visible(data.names[data.category[bar]], 80) })),
    list, related(bar), actions(bar), leftOut(lane.table));
}

function swatch(category) {
  const made = element("i", { class: "swatch" });
  made.style.background = colourOf(category);
  return made;
}

function related(bar) {
  if (!state.related.length) return null;
  const launched = laneOf(bar).table === "api";
  const box = element("div", {}, element("h3", { text: say(launched ? "related.launched" : "related.launcher") }));
  for (const other of state.related.slice(0, 20)) {
    const lane = laneOf(other);
    box.append(element("button", { class: "row-link", click: () => goTo(other) },
      element("span", { text: visible(data.names[data.name[other]], 60) }),
      element("small", { text: say(data.start[other] < data.start[bar] ? "related.earlier" : "related.later",
        { lane: lane.title, duration: duration(Math.abs(data.start[other] - data.start[bar])) }) })));
  }
  if (state.related.length > 20) box.append(element("p", { class: "quiet", text: say("related.more", { count: count(state.related.length - 20) }) }));
  return box;
}

function actions(bar) {
  return element("div", { class: "actions" },
    element("button", { text: say("do.zoom"), click: () => { const span = data.end[bar] - data.start[bar]; fly(data.start[bar] - span, data.end[bar] + span); } }),
    element("button", { text: say("do.select"), click: () => select(data.start[bar], data.end[bar]) }),
    element("button", { text: say("do.like"), click: () => searchFor(data.names[data.category[bar]]) }));
}

function leftOut(tableName) {
  const left = facts.leftOut.filter((text) => text.startsWith(`${tableName}: `)).map((text) => text.slice(tableName.length + 2));
  return left.length ? element("p", { class: "quiet", text: say("left.out", { names: left.join(", ") }) }) : null;
}
