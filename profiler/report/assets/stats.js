// Statistics of a selected time: by operator, by host call, copies, communication, and how busy each lane was.

function select(from, to) {
  state.selection = from < to ? [from, to] : [to, from];
  renderSelection();
  openTab("selection");
  redraw();
}

function clearSelection() {
  state.selection = null;
  renderSelection();
  redraw();
}

// Sums of [from, to): time inside, events that touch it, bytes of those. Lanes that repeat others are left out.
function statistics(from, to) {
  const sums = { operator: new Map(), call: new Map(), copy: new Map(), collective: new Map(), busy: [] };
  for (const lane of data.lanes) {
    if (lane.repeated) continue;
    const table = tableOf(lane), kinds = column(table, "kind"), levels = column(table, "level"), bytes = column(table, "bytes");
    const kindTexts = table.columns.kind?.texts ?? [];
    let inLane = 0;
    for (let d = 0; d + 1 < lane.depths.length; d += 1) {
      const last = lane.depths[d + 1];
      for (let i = lowerBound(data.end, from, lane.depths[d], last); i < last && data.start[i] < to; i += 1) {
        const time = Math.min(data.end[i], to) - Math.max(data.start[i], from), row = data.row[i];
        if (d === 0) inLane += Math.max(0, time);
        const into = sumOf(sums, lane.table, kinds ? kindTexts[kinds[row]] : "", levels ? levels[row] : 0);
        if (!into) continue;
        const category = data.category[i];
        let sum = into.get(category);
        if (!sum) into.set(category, sum = { category, time: 0, count: 0, bytes: 0 });
        sum.time += Math.max(0, time);
        sum.count += 1;
        if (bytes && bytes[row] > 0) sum.bytes += bytes[row];
      }
    }
    if (inLane > 0) sums.busy.push({ lane, time: inLane });
  }
  return sums;
}

function sumOf(sums, table, kind, level) {
  if (table === "api") return sums.call;
  if (table === "comm") return level === 0 ? sums.collective : null;
  if (table !== "task") return null;
  if (kind === "kernel" || kind === "aicpu") return sums.operator;
  return kind === "copy" || kind === "memset" ? sums.copy : null;
}

function renderSelection() {
  const box = byId("selection");
  if (!state.selection) {
    return box.replaceChildren(element("p", { class: "empty-note", text: say("empty.selection") }));
  }
  const [from, to] = state.selection, sums = statistics(from, to);
  fill(box,
    element("h2", { text: duration(to - from) }),
    element("p", { class: "quiet", text: say("selection.range", { start: clock(from), end: clock(to) }) }),
    element("div", { class: "actions" },
      element("button", { text: say("do.zoom"), click: () => fly(from, to) }), element("button", { text: say("do.clear"), click: clearSelection })),
    sumTable(say("sum.operators"), sums.operator, to - from, say("sum.operators.none")),
    sumTable(say("sum.calls"), sums.call, to - from, say("sum.calls.none"), say("sum.calls.note")),
    sumTable(say("sum.copies"), sums.copy, to - from, say("sum.copies.none"), "", true),
    sumTable(say("sum.collectives"), sums.collective, to - from, ""),
    busyTable(sums.busy, to - from));
}

const LINES = 12;
function sumTable(title, sums, span, empty, note = "", withBytes = false) {
  const rows = [...sums.values()].sort((a, b) => b.time - a.time);
  if (!rows.length) return empty ? element("section", {}, element("h3", { text: title }), element("p", { class: "quiet", text: empty })) : null;
  const whole = rows.reduce((sum, row) => sum + row.time, 0), number = rows.reduce((sum, row) => sum + row.count, 0);
  const body = element("tbody");
  for (const row of rows.slice(0, LINES)) body.append(sumRow(row, whole, withBytes));
  const rest = rows.length > LINES ? `${plural(rows.length - LINES, "more")}. ` : "";
  return element("section", {}, element("h3", { text: title }), element("p", { class: "quiet", text: say("selection.sum", { duration: duration(whole), events: plural(number, "event") }) }),
    element("table", { class: "sums" }, body), rest || note ? element("p", { class: "quiet", text: rest + note }) : null);
}

function sumRow(row, whole, withBytes) {
  const bar = element("i", { class: "share" });
  bar.style.width = `${whole ? (100 * row.time) / whole : 0}%`;
  bar.style.background = colourOf(row.category);
  const name = data.names[row.category];
  return element("tr", {},
    element("td", {}, element("span", { class: "sum-name", text: visible(name, 60), title: visible(name, 300) }), bar),
    element("td", { text: duration(row.time) }),
    element("td", { text: withBytes && row.bytes ? rateText(row.bytes, row.time) : `${count(row.count)}×` }));
}

function busyTable(busy, span) {
  if (!busy.length || span <= 0) return null;
  const body = element("tbody");
  for (const { lane, time } of busy.sort((a, b) => b.time - a.time).slice(0, LINES)) {
    body.append(element("tr", {}, element("td", {}, element("span", { class: "sum-name", text: visible(lane.group + say("comma") + lane.title, 60) })),
      element("td", { text: percent(Math.min(1, time / span)) })));
  }
  return element("section", {}, element("h3", { text: say("sum.busy") }), element("table", { class: "sums" }, body));
}
