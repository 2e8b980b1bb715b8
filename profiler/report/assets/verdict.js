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
    element("section", { class: "wide" }, element("h2", { text: "Findings" }), list),
    breakdown(report), element("section", { class: "wide" }, element("h2", { text: "Where the time goes" }), charts),
    element("h2", { class: "before-timeline", text: "Timeline" }));
  drawCharts();
}

function summary(report) {
  const [from, to] = report.window, words = [`${duration(to - from)} judged`];
  words.push(report.steps ? plural(report.steps, "step") : "no steps found, so the whole span is judged");
  const lines = [element("p", { class: "lead", text: words.join(", ") })];
  if (report.quality) {
    const { measured, modelled, explained } = report.quality;
    const off = measured ? percent(Math.abs(modelled - measured) / measured) : "unknown";
    lines.push(element("p", { class: "quiet", text: `Gains come from a replay of this trace. Replayed with typical costs it is ${off} off the measured time; its dependencies explain ${percent(explained)} of the critical path.` }));
  }
  return element("div", {}, ...lines);
}

const COLUMNS = [["computing", "Computing"], ["communication_not_overlapped", "Communication, not overlapped"], ["copies", "Copies"],
  ["idle", "Idle"], ["stage", "Stage"], ["preparing", "Preparing"], ["tail", "Tail"]];
const STEPS = 12;

function breakdown(report) {
  if (!report.breakdown.length) return null;
  const several = new Set(report.breakdown.map((b) => `${b.rank}/${b.device}`)).size > 1;
  const head = element("tr", {}, element("th", { text: several ? "Step, rank" : "Step" }), ...COLUMNS.map(([, title]) => element("th", { text: title })));
  const rows = report.breakdown.slice(0, STEPS).map((b) => element("tr", {}, element("td", { text: several ? `${b.step}, rank ${b.rank}` : String(b.step) }),
    ...COLUMNS.map(([key]) => element("td", { text: b[key] === null ? "not measured" : b[key] ? duration(b[key]) : "0" }))));
  const more = report.breakdown.length - rows.length;
  return element("section", { class: "wide" }, element("h2", { text: "Where each step's time went" }),
    element("table", { class: "breakdown" }, element("thead", {}, head), element("tbody", {}, ...rows)),
    more > 0 ? element("p", { class: "quiet", text: `${plural(more, "more line")} in the JSON report.` }) : null);
}
