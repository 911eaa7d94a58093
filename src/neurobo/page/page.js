// The page: its charts, the theme, and the legend, which hides a method in all charts at once.
const places = [...document.querySelectorAll(".plot")];
const charts = JSON.parse(document.getElementById("plots").textContent)
  .map((spec, i) => new Chart(places[i], spec));

const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || dark) === "dark" ? "light" : "dark";
});

for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", String(shown));
    for (const chart of charts) {
      chart.hidden[shown ? "delete" : "add"](button.dataset.method);
      chart.draw();
    }
  });
}
