// The address of every view: #/section/view/layer?at=new:3&finding=0&open=1.4&show=all
"use strict";
((view) => {
  const VIEWS = ["picture", "tables"];
  const LAYERS = ["stream", "job", "execution"];
  const SHOWN = ["all", "changed"];
  const WORST_FIRST = ["incompatible", "failed", "unknown"];

  view.LAYERS = LAYERS;

  view.readAddress = (sections) => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const [number, name, layer] = path.split("/");
    const values = new URLSearchParams(query || "");
    const section = number && sections[Number(number)] ? Number(number) : worst(sections);
    const at = /^(old|new):(v?)(\d+)$/.exec(values.get("at") || "");
    const finding = Number(values.get("finding") ?? NaN);
    return {
      section,
      view: VIEWS.includes(name) ? name : "picture",
      layer: LAYERS.includes(layer) ? layer : "job",
      at: at && exists(sections[section], at) ? { side: at[1], vertex: at[2] === "v", index: Number(at[3]) } : null,
      finding: sections[section] && sections[section].findings[finding] ? finding : null,
      show: SHOWN.includes(values.get("show")) ? values.get("show") : null,
      open: values.has("open") ? values.get("open").split(".").filter(Boolean).map(Number) : null,
    };
  };

  // The first check that fails, the worst of them; the first one where none does.
  function worst(sections) {
    const verdicts = sections.map((section) => section.verdict);
    return Math.max(0, verdicts.indexOf(WORST_FIRST.find((verdict) => verdicts.includes(verdict))));
  }

  function exists(section, [, side, vertex, index]) {
    const program = section && section.sides[side];
    return Boolean(program && (vertex ? program.vertices : program.operators)[Number(index)]);
  }

  view.writeAddress = (state) => {
    const values = [];
    if (state.at) values.push(`at=${view.atText(state.at)}`);
    if (state.finding !== null) values.push(`finding=${state.finding}`);
    if (state.open !== null) values.push(`open=${state.open.join(".")}`);
    if (state.show !== null) values.push(`show=${state.show}`);
    const hash = `#/${state.section}/${state.view}/${state.layer}${values.length ? `?${values.join("&")}` : ""}`;
    if (hash !== location.hash) location.hash = hash;
  };

  view.atText = (at) => `${at.side}:${at.vertex ? "v" : ""}${at.index}`;
})(window.compatView);
