// Draws the plots in the colours of the theme; the legend hides a method in all of them at once.
"use strict";
const specs = JSON.parse(document.getElementById("plots").textContent);
const places = [...document.querySelectorAll(".plot")];
const root = document.documentElement;
// On a touch screen a finger on a plot scrolls the page instead of zooming.
const mouse = matchMedia("(pointer: fine)").matches;

function colours(layout) {
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const change = { "font.color": colour("--ink"), "hoverlabel.bgcolor": colour("--card"),
    "hoverlabel.font.color": colour("--ink") };
  for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    change[`${axis}.gridcolor`] = colour("--grid");
    change[`${axis}.linecolor`] = change[`${axis}.tickcolor`] = colour("--soft");
  }
  (layout.shapes || []).forEach((shape, i) => {
    if (shape.line && shape.line.color === "ink") { shape.themed = true; }
    if (shape.themed) { change[`shapes[${i}].line.color`] = colour("--ink"); }
  });
  return change;
}

const drawn = specs.map((spec, i) => {
  spec.layout.dragmode = mouse ? "zoom" : false;
  for (const axis of Object.keys(spec.layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    if (!mouse) { spec.layout[axis].fixedrange = true; }
  }
  const change = colours(spec.layout);
  return Plotly.newPlot(places[i], spec.data, spec.layout, { displayModeBar: false, responsive: true })
    .then(() => Plotly.relayout(places[i], change));
});

function repaint() {
  specs.forEach((spec, i) => Plotly.relayout(places[i], colours(spec.layout)));
}
const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  repaint();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
// Paper is white.
let chosen;
addEventListener("beforeprint", () => { chosen = root.dataset.theme; root.dataset.theme = "light"; repaint(); });
addEventListener("afterprint", () => {
  if (chosen) { root.dataset.theme = chosen; } else { delete root.dataset.theme; }
  repaint();
});

const buttons = [...document.querySelectorAll(".legend button")];
function show(button, shown) {
  button.setAttribute("aria-pressed", String(shown));
  specs.forEach((spec, i) => {
    const own = spec.data.flatMap((trace, n) => (trace.meta === button.dataset.method ? [n] : []));
    if (own.length) { Plotly.restyle(places[i], { visible: shown }, own); }
  });
}
for (const button of buttons) {
  button.addEventListener("click", () => show(button, button.getAttribute("aria-pressed") === "false"));
}
