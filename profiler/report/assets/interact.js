// Mouse, wheel and keys.

let drag = null;

const local = (event, canvas = plane) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

function onWheel(event) {
  if (event.ctrlKey && event.deltaY === 0) return;
  event.preventDefault();
  stopFlight();
  hideTip();
  const unit = event.deltaMode === 1 ? 16 : 1;
  if (event.shiftKey) scrollTo_(layout.scroll + (event.deltaY || event.deltaX) * unit);
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan(event.deltaX * unit);
  else return zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY * unit)) * 0.0035), local(event)[0]);
  redraw();
}

function onDown(event) {
  if (event.button !== 0) return;
  stopFlight();
  plane.focus({ preventScroll: true });
  const [x, y] = local(event);
  drag = { x, y, lastX: x, lastY: y, moved: false, selects: event.shiftKey || y < AXIS, from: timeAt(x) };
  plane.setPointerCapture(event.pointerId);
}

function onMove(event) {
  const [x, y] = local(event);
  if (!drag) return hover(x, y, event);
  drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > 3;
  if (!drag.moved) return;
  hideTip();
  if (drag.selects) {
    const to = timeAt(Math.max(0, Math.min(view.width, x)));
    state.selection = [Math.min(drag.from, to), Math.max(drag.from, to)];
  } else {
    pan(drag.lastX - x);
    scrollTo_(layout.scroll + drag.lastY - y);
  }
  [drag.lastX, drag.lastY] = [x, y];
  redraw();
}

function onUp(event) {
  const ended = drag;
  drag = null;
  if (!ended) return;
  if (ended.selects && ended.moved) return select(...state.selection);
  if (ended.moved) return;
  const [x, y] = local(event), hit = pick(x, y);
  choose(hit && hit.bar >= 0 ? hit.bar : -1);
}

function hover(x, y, event) {
  const hit = pick(x, y), bar = hit ? hit.bar : -1;
  showTip(hit, x, y, event.clientX, event.clientY);
  plane.style.cursor = y < AXIS ? "col-resize" : bar >= 0 ? "pointer" : "default";
  if (bar !== state.hover) { state.hover = bar; redraw(); }
}

function overviewMove(event) {
  if (!(event.buttons & 1)) return;
  stopFlight();
  const [x] = local(event, overview), span = view.to - view.from, middle = overviewTime(x);
  show(middle - span / 2, middle + span / 2);
}

// The bar before or after the chosen one in its row.
function neighbour(direction) {
  if (state.selected < 0) return;
  const lane = laneOf(state.selected), depth = depthOf(lane, state.selected), next = state.selected + direction;
  if (next >= lane.depths[depth] && next < lane.depths[depth + 1]) goTo(next);
}

function setPressed(id, on) { byId(id).setAttribute("aria-pressed", String(on)); }
function toggleArrows() { state.arrows = !state.arrows; setPressed("arrows", state.arrows); redraw(); }
function toggleEmpty() { layout.foldEmpty = !layout.foldEmpty; setPressed("empty", layout.foldEmpty); arrange(); redraw(); }

function togglePath() { if (path.bars.length) { path.shown = !path.shown; setPressed("path", path.shown); redraw(); } }

function escape() {
  hideTip();
  if (state.selection) clearSelection();
  else if (found.text) searchFor("");
  else if (findings.open >= 0) closeFinding();
  else choose(-1);
}

const STEP = 0.15;  // part of the view one key press moves
const KEYS = [
  [["ArrowLeft", "a"], say("key.left"), () => pan(-STEP * view.width)],
  [["ArrowRight", "d"], say("key.right"), () => pan(STEP * view.width)],
  [["ArrowUp"], say("key.up"), () => { scrollTo_(layout.scroll - 60); redraw(); }],
  [["ArrowDown"], say("key.down"), () => { scrollTo_(layout.scroll + 60); redraw(); }],
  [["w", "+", "="], say("key.in"), () => zoom(0.7, state.cursor ?? undefined)],
  [["s", "-"], say("key.out"), () => zoom(1 / 0.7, state.cursor ?? undefined)],
  [["0", "Home"], say("key.fit"), fit],
  [["/"], say("key.search"), () => byId("query").focus()],
  [["n"], say("key.next"), () => stepMatch(1)],
  [["N"], say("key.before"), () => stepMatch(-1)],
  [["]"], say("key.finding.next"), () => stepFinding(1)],
  [["["], say("key.finding.before"), () => stepFinding(-1)],
  [[".", ","], say("key.neighbour"), (key) => neighbour(key === "." ? 1 : -1)],
  [["m"], say("key.select"), () => { if (state.selected >= 0) select(data.start[state.selected], data.end[state.selected]); }],
  [["l"], say("key.arrows"), toggleArrows],
  [["c"], say("key.path"), togglePath],
  [["e"], say("key.fold"), toggleEmpty],
  [["t"], say("key.theme"), () => setTheme(!theme.dark)],
  [["?"], say("key.help"), () => byId("keys").showModal()],
  [["Escape"], say("key.escape"), escape],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target === byId("query")) {
    if (event.key === "Enter") stepMatch(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { searchFor(""); plane.focus(); }
    return;
  }
  const key = event.key.length === 1 && event.key !== "N" ? event.key.toLowerCase() : event.key;
  const entry = KEYS.find(([keys]) => keys.includes(key));
  if (!entry) return;
  event.preventDefault();
  stopFlight();
  entry[2](key);
}

function keyList() {
  const list = element("dl");
  const mouse = ["wheel", "drag", "scroll", "select", "click"].map((name) => [say(`mouse.${name}`), say(`mouse.${name}.do`)]);
  const signs = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };
  for (const [keys, text] of [...mouse.map(([k, t]) => [[k], t]), ...KEYS]) {
    list.append(element("dt", {}, ...keys.map((k) => element("kbd", { text: signs[k] ?? k }))), element("dd", { text }));
  }
  byId("keys").replaceChildren(element("h2", { text: say("keys.title") }), list, element("button", { text: say("keys.close"), click: () => byId("keys").close() }));
}

function listen() {
  plane.addEventListener("wheel", onWheel, { passive: false });
  plane.addEventListener("pointerdown", onDown);
  plane.addEventListener("pointermove", (event) => { [state.cursor] = local(event); onMove(event); });
  plane.addEventListener("pointerup", onUp);
  plane.addEventListener("pointerleave", () => { state.cursor = null; state.hover = -1; hideTip(); redraw(); });
  byId("labels").addEventListener("wheel", (event) => { event.preventDefault(); scrollTo_(layout.scroll + event.deltaY); redraw(); }, { passive: false });
  byId("scroll").addEventListener("scroll", () => { scrollTo_(byId("scroll").scrollTop); redraw(); });
  for (const type of ["pointerdown", "pointermove"]) overview.addEventListener(type, overviewMove);
  document.addEventListener("keydown", onKey);
  let typing = 0;
  byId("query").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => search(byId("query").value), 120); });
  const buttons = { fit, arrows: toggleArrows, path: togglePath, empty: toggleEmpty, theme: () => setTheme(!theme.dark), help: () => byId("keys").showModal(),
    before: () => stepMatch(-1), after: () => stepMatch(1) };
  for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener("click", act);
  for (const tab of document.querySelectorAll("[data-tab]")) tab.addEventListener("click", () => openTab(tab.dataset.tab));
}
