// What the page is about: the sections of the report, and look-ups in them.
"use strict";
((view) => {
  const LEVELS = ["error", "unknown", "migrate", "warning", "note"];
  const SIDES = ["old", "new"];

  class Section {
    constructor(values, number) {
      Object.assign(this, values);
      this.number = number;
      this.element = document.querySelector(`[data-section="${number}"]`);
      this.rows = { old: new Map(), new: new Map() };
      this.found = { old: new Map(), new: new Map() };
      this.partner = { old: new Map(), new: new Map() };
      this.boxes = {};
      for (const row of this.mapping) for (const side of SIDES) add(this.rows[side], row[side], row);
      this.findings.forEach((finding, index) => {
        for (const side of SIDES) for (const operator of finding.concerned[side]) add(this.found[side], operator, index);
      });
      for (const box of this.layers.stream ? this.layers.stream.boxes : []) {
        if (box.old === null || box.new === null) continue;
        this.partner.old.set(box.old, box.new);
        this.partner.new.set(box.new, box.old);
      }
      this.layout = { scale: "start" };
    }

    get drawn() {
      return this.kind !== "failure";
    }

    operator(side, index) {
      return this.sides[side] ? this.sides[side].operators[index] : undefined;
    }

    // The worst of what is said of an operator, or null.
    level(side, index) {
      const levels = (this.found[side].get(index) || []).map((place) => LEVELS.indexOf(this.findings[place].level));
      return levels.length ? LEVELS[Math.min(...levels)] : null;
    }

    // The box of a layer that an operator is in.
    boxOf(layer, side, index) {
      const key = `${layer}/${side}`;
      if (!this.boxes[key]) {
        this.boxes[key] = new Map();
        this.layers[layer].boxes.forEach((box, place) => {
          if (box[side] === null) return;
          const members = layer === "stream" ? [box[side]] : this.sides[side].vertices[box[side]].operators;
          for (const member of members) this.boxes[key].set(member, place);
        });
      }
      return this.boxes[key].get(index);
    }
  }

  function add(map, key, value) {
    if (key === null) return;
    if (!map.has(key)) map.set(key, []);
    map.get(key).push(value);
  }

  view.SIDES = SIDES;
  view.LEVELS = LEVELS;
  view.readSections = () => {
    const data = document.getElementById("view-data");
    return data ? JSON.parse(data.textContent).sections.map((values, number) => new Section(values, number)) : [];
  };
})(window.compatView);
