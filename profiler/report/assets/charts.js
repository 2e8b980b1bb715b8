// plotly's summary charts. The library (4.8 MB) lies compressed in the page and is unpacked only when charts are looked at.

const figures = JSON.parse(byId("figures").textContent);
let plotly = null;

function loadPlotly() {
  plotly ??= inflate(takeText("plotly")).then((bytes) => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    script.onload = () => { URL.revokeObjectURL(script.src); done(window.Plotly); };
    script.onerror = () => failed(new Error(say("charts.broken")));
    document.head.append(script);
  }));
  return plotly;
}

async function drawCharts() {
  const box = byId("charts");
  if (!figures.length) return box.replaceChildren(note(say("empty.charts")));
  if (!box.childElementCount) {
    box.append(...figures.map(({ title, figure }) => element("figure", {}, element("figcaption", { text: title }), sized(figure))));
  }
  const library = await loadPlotly();
  figures.forEach(({ figure }, number) => library.react(box.querySelectorAll(".chart")[number],
    figure.data.map(coloured), themed(figure.layout), { displayModeBar: false, responsive: true }));
}

function sized(figure) {
  const made = element("div", { class: "chart" });
  made.style.height = `${figure.layout.height}px`;
  return made;
}

const coloured = (trace) => ({ ...trace, marker: { color: theme.tokens[trace.meta.slice(2)] } });

function themed(layout) {
  const { text, line } = theme.tokens, axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line };
  return { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: text, size: 12, family: FONT.slice(5) },
    xaxis: { ...layout.xaxis, ...axis, fixedrange: true }, yaxis: { ...layout.yaxis, ...axis, fixedrange: true } };
}
