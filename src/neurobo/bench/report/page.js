// Draws the plots and lets the legend hide a method in all of them at once.
"use strict";
const specs = JSON.parse(document.getElementById("plots").textContent);
const places = [...document.querySelectorAll(".plot")];
// On a touch screen a finger on a plot scrolls the page instead of zooming.
const mouse = matchMedia("(pointer: fine)").matches;
specs.forEach((spec, i) => {
  spec.layout.dragmode = mouse ? "zoom" : false;
  if (!mouse) { spec.layout.xaxis.fixedrange = spec.layout.yaxis.fixedrange = true; }
  Plotly.newPlot(places[i], spec.data, spec.layout, { displayModeBar: false, responsive: true });
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
