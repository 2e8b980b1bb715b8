// Findings: cards with claim, gain and advice; opening one moves the view to its evidence and marks it.

const findings = { open: -1, place: -1 };

function openTab(name) {
  for (const tab of document.querySelectorAll("[data-tab]")) {
    const own = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(own));
    byId(tab.dataset.tab).hidden = !own;
  }
  if (name === "charts") drawCharts();
}

// Range of all the evidence, or of one place of it.
function rangeOf(places) {
  return [Math.min(...places.map((p) => p.start)), Math.max(...places.map((p) => p.end))];
}

const OUTLINED = 4000;  // bars outlined for one finding
function openFinding(number, place = -1) {
  const finding = facts.report.findings[number];
  findings.open = number;
  findings.place = place;
  const places = place < 0 ? finding.evidence : [finding.evidence[place]];
  state.bands = finding.evidence;
  state.outlined = places.flatMap((p) => p.rows.map((row) => barOfRow(0, p.table, row))).filter((bar) => bar >= 0).slice(0, OUTLINED);
  state.selected = -1;
  state.related = [];
  if (places.length) {
    const [from, to] = rangeOf(places), margin = Math.max(0.15 * (to - from), 2000);
    if (state.outlined.length) reveal(laneOf(state.outlined[0]));
    if (facts.form === "report") byId("timeline").scrollIntoView({ block: "nearest" });
    fly(from - margin, to + margin);
  }
  renderFindings();
  redraw();
}

function closeFinding() {
  findings.open = findings.place = -1;
  state.bands = [];
  state.outlined = [];
  renderFindings();
  redraw();
}

function renderFindings() {
  const report = facts.report, box = byId("findings");
  if (!report) return box.replaceChildren(note(say("empty.findings")));
  fill(box, ...findingsHead(report), ...report.findings.map(card), facts.form === "report" ? null : checklist(report), missingList(report));
}

const note = (text) => element("p", { class: "empty-note", text });

function findingsHead(report) {
  if (!report.findings.length) return [note(say("no.findings"))];
  const together = report.joint ? say("finding.joint", { gain: report.joint }) : "";
  return together ? [element("p", { class: "joint", text: together })] : [];
}

function card(finding, number) {
  const open = findings.open === number;
  const head = element("button", { class: "card-head", "aria-expanded": String(open), click: () => (open ? closeFinding() : openFinding(number)) },
    element("span", { class: `badge ${finding.severity}`, text: say(`severity.${finding.severity}`) }),
    element("span", { class: "layer", text: say(`layer.${finding.layer}`) }),
    element("span", { class: "gain", text: finding.gainTime }),
    element("span", { class: "claim", text: visible(finding.claim, 2000) }));
  return element("article", { class: `card ${finding.severity}${open ? " open" : ""}`, "data-finding": finding.id }, head, open ? cardBody(finding, number) : null);
}

function cardBody(finding, number) {
  const body = element("div", { class: "card-body" });
  if (finding.advice) body.append(element("p", { class: "advice", text: visible(finding.advice, 4000) }));
  if (finding.gain) body.append(element("p", { class: "quiet", text: say("finding.gain", { gain: finding.gain }) }));
  if (finding.cause) body.append(element("p", { class: "quiet", text: say("finding.cause", { id: visible(finding.cause, 100) }) }));
  if (finding.sites.length) body.append(element("p", { class: "sites", text: visible(finding.sites.slice(0, 8).join("\n"), 2000) }));
  if (finding.evidence.length) body.append(element("h3", { text: finding.places > finding.evidence.length
    ? say("finding.where.first", { shown: finding.evidence.length, count: count(finding.places) }) : say("finding.where") }));
  finding.evidence.slice(0, 40).forEach((place, n) => body.append(
    element("button", { class: `row-link${findings.place === n ? " current" : ""}`, click: () => openFinding(number, n) },
      element("span", { text: visible(place.label, 120) || clock(place.start) }),
      element("small", { text: [say("tip.at", { time: clock(place.start) }), duration(place.end - place.start), visible(place.site, 120)].filter(Boolean).join(say("comma")) }))));
  return body;
}

function checklist(report) {
  const list = element("ul", { class: "checklist" });
  for (const line of report.checklist) {
    list.append(element("li", { class: line.state }, element("b", { text: line.title }), element("span", { text: visible(line.text, 400) })));
  }
  return report.checklist.length ? element("section", {}, element("h3", { text: say("looked.at") }), list) : null;
}

function missingList(report) {
  const all = [...report.missing, ...facts.missing].map((m) => m.join(": ")), lines = [...new Set(all)];
  if (!lines.length) return null;
  return element("details", { class: "missing" }, element("summary", { text: plural(lines.length, "thing") }),
    element("ul", {}, ...lines.map((text) => element("li", { text: visible(text, 400) }))));
}

function stepFinding(direction) {
  const number = facts.report?.findings.length ?? 0;
  if (number) openFinding(findings.open < 0 ? (direction > 0 ? 0 : number - 1) : (findings.open + direction + number) % number);
}
