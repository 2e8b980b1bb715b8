// The head of the report page: checklist, findings in full width, the breakdown as a table, charts. The timeline follows.

function renderVerdict() {
  if (facts.form !== "report") return;
  const box = byId("verdict"), report = facts.report;
  box.hidden = false;
  document.querySelector('[data-tab="findings"]').remove();
  document.querySelector('[data-tab="charts"]').remove();
  const charts = byId("charts"), list = byId("findings");
  charts.hidden = list.hidden = false;
  charts.removeAttribute("role");
  list.removeAttribute("role");
  fill(box, element("section", { class: "summary" }, summary(report), checklist(report)),
    element("section", { class: "wide" }, element("h2", { text: say("tab.findings") }), list),
    breakdown(report), element("section", { class: "wide" }, element("h2", { text: say("verdict.charts") }), charts),
    element("h2", { class: "before-timeline", text: say("timeline") }));
  drawCharts();
}

function summary(report) {
  const [from, to] = report.window, words = [say("verdict.judged", { duration: duration(to - from) })];
  words.push(report.steps ? plural(report.steps, "step") : say("verdict.no.steps"));
  const lines = [element("p", { class: "lead", text: words.join(say("comma")) })];
  if (report.quality) {
    const { measured, modelled, explained } = report.quality;
    const off = measured ? percent(Math.abs(modelled - measured) / measured) : say("unknown");
    lines.push(element("p", { class: "quiet", text: say("verdict.replay", { off, explained: percent(explained) }) }));
  }
  if (report.modelErrors) lines.push(element("p", { class: "quiet", text: report.modelErrors }));
  return element("div", {}, ...lines);
}

const COLUMNS = ["computing", "communication_not_overlapped", "copies", "idle", "stage", "preparing", "tail"];
const STEPS = 12;

function breakdown(report) {
  if (!report.breakdown.length) return null;
  const several = new Set(report.breakdown.map((b) => `${b.rank}/${b.device}`)).size > 1;
  const head = element("tr", {}, element("th", { text: say(several ? "verdict.step.rank" : "verdict.step") }), ...COLUMNS.map((key) => element("th", { text: say(`part.${key}`) })));
  const rows = report.breakdown.slice(0, STEPS).map((b) => element("tr", {}, element("td", { text: several ? say("verdict.row.rank", b) : String(b.step) }),
    ...COLUMNS.map((key) => element("td", { text: b[key] === null ? say("verdict.not.measured") : b[key] ? duration(b[key]) : "0" }))));
  const more = report.breakdown.length - rows.length;
  return element("section", { class: "wide" }, element("h2", { text: say("verdict.breakdown") }),
    element("table", { class: "breakdown" }, element("thead", {}, head), element("tbody", {}, ...rows)),
    more > 0 ? element("p", { class: "quiet", text: say("verdict.rest", { lines: plural(more, "more") }) }) : null);
}
