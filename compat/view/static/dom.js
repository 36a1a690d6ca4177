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
      view.el("figcaption", {}, view.el("code", { title: source.place }, view.shortened(source.place)),
        source.method ? [" in ", view.el("code", {}, source.method)] : null),
      lines.length ? view.el("pre", { tabindex: 0, "aria-label": "Source lines" }, lines) : null);
  };

  // A path with its beginning left out where it is long, as the tables have it.
  view.shortened = (name, longest = 44) => {
    if (name.length <= longest) return name;
    const end = name.slice(name.length - longest + 1);
    return `…${end.includes("/") ? end.slice(end.indexOf("/")) : end}`;
  };

  view.plural = (count, noun, nouns = `${noun}s`) => `${count} ${count === 1 ? noun : nouns}`;
})(window.compatView);
