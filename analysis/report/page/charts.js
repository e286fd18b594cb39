// Charts by Vega-Lite. Their expressions are interpreted, not compiled, so that the page needs no eval.
(() => {
  if (!window.vegaEmbed) return;
  const figures = JSON.parse(document.getElementById("charts-data").textContent);
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const axis = {
    labelColor: "var(--ink-soft)", titleColor: "var(--ink-soft)", gridColor: "var(--line)", domainColor: "var(--line-strong)",
    tickColor: "var(--line-strong)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8,
    labelSeparation: 6,
  };
  const config = { font, background: null, view: { stroke: null }, axis, axisX: { titleAnchor: "end" }, axisY: { grid: false }, mark: { aria: false } };

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const tooltip = (handler, event, item, value) => {
    if (!value || !event) { tip.hidden = true; return; }
    const rows = Object.entries(value).map(([name, shown]) => {
      const line = document.createElement("div");
      const label = document.createElement("span");
      label.textContent = name;
      line.append(label, ` ${shown}`);
      return line;
    });
    tip.replaceChildren(...rows);
    tip.hidden = false;
    const right = event.clientX + 16 + tip.offsetWidth > window.innerWidth;
    tip.style.left = `${right ? event.clientX - 12 - tip.offsetWidth : event.clientX + 16}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 12, window.innerHeight - tip.offsetHeight - 4))}px`;
  };

  const draw = async (figure) => {
    const specs = figures[Number(figure.dataset.chart)];
    const plots = [...figure.querySelectorAll(".plot")];
    const options = { ast: true, actions: false, renderer: "svg", tooltip, config, defaultStyle: false, logLevel: 1 };
    const views = [];
    for (let i = 0; i < plots.length; i += 1) {
      views.push((await window.vegaEmbed(plots[i], specs[i], options)).view);
    }
    const buttons = [...figure.querySelectorAll(".legend button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        const shown = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => Number(b.dataset.series));
        for (const view of views) view.signal("shown", shown).runAsync();
      });
    }
    figure.classList.add("drawn");
  };

  (async () => {
    for (const figure of document.querySelectorAll("figure.chart")) await draw(figure);
    document.documentElement.dataset.charts = "drawn";
  })();
})();
