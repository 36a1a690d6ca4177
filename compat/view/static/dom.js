// Elements from data. Text only ever becomes text: nothing here reads markup from a string.
"use strict";
window.compatView = window.compatView || {};
((view) => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  }

  view.el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  view.svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // The lines around a place of a program, as the findings show them.
  view.source = (source) => {
    if (!source) return null;
    const lines = source.lines.map((line) =>
      view.el("span", { class: line.added ? "added" : line.mark ? "mark" : "line" },
        view.el("i", {}, line.added ? "+" : line.number === null ? "" : String(line.number)), `${line.text}\n`));
    return view.el("figure", { class: "source" },
      view.el("figcaption", {}, view.el("code", {}, source.place)),
      lines.length ? view.el("pre", { tabindex: 0, "aria-label": "Source lines" }, lines) : null);
  };

  view.plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
})(window.compatView);
