// Start: unpack, arrange, show the measured window, listen.

function resize() {
  const box = byId("stage").getBoundingClientRect();
  view.width = Math.max(50, Math.floor(box.width - byId("labels").offsetWidth - byId("scroll").offsetWidth));
  layout.viewHeight = Math.max(80, Math.floor(box.height));
  scrollTo_(layout.scroll);
  redraw();
}

function sayAbout() {
  byId("title").textContent = visible(facts.title, 80);
  byId("about").textContent = [...facts.about, plural(facts.bars, "event"), duration(facts.latest)].map((t) => visible(t, 60)).join(" · ");
  byId("about").title = byId("about").textContent;
  if (facts.bars || facts.curves.length) return;
  byId("nothing").hidden = false;
  byId("nothing").textContent = say("empty.trace");
}

// The words of the elements that stand in the page from the start.
function sayWords() {
  for (const made of document.querySelectorAll("[data-say]")) made.textContent = say(made.dataset.say);
  for (const made of document.querySelectorAll("[data-hint]")) made.title = say(made.dataset.hint);
  for (const made of document.querySelectorAll("[data-label]")) made.setAttribute("aria-label", say(made.dataset.label));
  byId("query").placeholder = say("search.hint");
}

async function start() {
  document.body.dataset.form = facts.form;
  sayWords();
  startTheme();
  sayAbout();
  await loadData();
  startLayout();
  loadPath();
  keyList();
  renderFindings();
  renderDetails(-1);
  renderSelection();
  sayHits();
  renderVerdict();
  openTab(facts.report && facts.form === "timeline" ? "findings" : "details");
  arrange();
  resize();
  const [from, to] = facts.window, margin = 0.02 * (to - from);
  show(from - margin, to + margin);
  drawNow();
  listen();
  view.listeners.push(redraw);
  let settled = 0;
  view.listeners.push(() => {
    clearTimeout(settled);
    if (layout.foldEmpty) settled = setTimeout(() => { arrange(); redraw(); }, 150);
  });
  theme.listeners.push(redraw, () => { if (byId("charts").childElementCount && !byId("charts").hidden) drawCharts(); }, renderSelection,
    () => renderDetails(state.selected));
  new ResizeObserver(resize).observe(byId("stage"));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

// For tests and for those who look under the hood.
window.npuscope = { facts, data, view, layout, state, found, findings, drawNow, show, search, statistics, pick, placeOf };
start();
