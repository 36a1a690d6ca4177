// The overview: all boxes, small, and the part of them that is in sight as a frame, which is dragged or moved by the arrow keys.
"use strict";
((view) => {
  const { svg } = view;
  const WIDTH = 170;
  const HEIGHT = 120;
  const LEAST = 46;
  const STEP = 0.25;
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // Draws the map of the frames of boxes. It is there where not all of the graph is in sight.
  view.drawMap = (section, frames, chosen) => {
    const { width, height } = section.layout;
    const map = section.element.querySelector(".map");
    const scale = Math.min(WIDTH / width, HEIGHT / height);
    const size = [Math.max(LEAST, width * scale), Math.max(LEAST, height * scale)];
    const [across, down] = [size[0] / width, size[1] / height];
    const seen = svg("rect", { class: "seen", rx: 2 });
    map.replaceChildren(svg("svg", { width: size[0], height: size[1], "aria-hidden": "true" },
      frames.map(({ x, y, w, h }, index) => svg("rect", { x: x * across, y: y * down, width: Math.max(1.5, w * across), height: Math.max(1.5, h * down),
        class: `spot ${worst(section, chosen, chosen.boxes[index]) || ""}`.trim() })), seen));
    section.map = { seen, across, down };
    view.showSeen(section);
  };

  // The worst level of what is said of the operators of a box.
  function worst(section, { layer }, place) {
    const box = section.layers[layer].boxes[place];
    const levels = view.SIDES.filter((side) => box[side] !== null).flatMap((side) =>
      (layer === "stream" ? [box[side]] : section.sides[side].vertices[box[side]].operators).map((index) => section.level(side, index)));
    return view.LEVELS.find((level) => levels.includes(level));
  }

  // Puts the frame where the canvas is.
  view.showSeen = (section) => {
    if (!section.map) return;
    const [canvas, map] = [".canvas", ".map"].map((name) => section.element.querySelector(name));
    const { seen, across, down } = section.map;
    const { used, width, height } = section.layout;
    const [left, top] = [canvas.scrollLeft / used, canvas.scrollTop / used];
    const [w, h] = [Math.min(width - left, canvas.clientWidth / used), Math.min(height - top, canvas.clientHeight / used)];
    for (const [name, value] of Object.entries({ x: left * across, y: top * down, width: w * across, height: h * down })) {
      seen.setAttribute(name, Math.max(name === "x" || name === "y" ? 0 : 6, value));
    }
    map.hidden = w >= width - 1 && h >= height - 1;
  };

  view.startMap = (section) => {
    const [canvas, map] = [".canvas", ".map"].map((name) => section.element.querySelector(name));
    // The frame stays under the pointer where that took it; elsewhere on the map its middle comes there.
    map.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { seen, across, down } = section.map;
      const { used } = section.layout;
      const [ground, frame] = [map.querySelector("svg"), seen].map((part) => part.getBoundingClientRect());
      const taken = event.target === seen ? [event.clientX - frame.left, event.clientY - frame.top] : [frame.width / 2, frame.height / 2];
      const move = ({ clientX, clientY }) =>
        canvas.scrollTo(((clientX - ground.left - taken[0]) / across) * used, ((clientY - ground.top - taken[1]) / down) * used);
      map.setPointerCapture(event.pointerId);
      move(event);
      map.onpointermove = move;
      map.onpointerup = map.onpointercancel = () => {
        map.onpointermove = null;
      };
      event.preventDefault();
      map.focus();
    });
    map.addEventListener("keydown", (event) => {
      const way = KEYS[event.key];
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      canvas.scrollBy(way[0] * canvas.clientWidth * STEP, way[1] * canvas.clientHeight * STEP);
    });
    canvas.addEventListener("scroll", () => view.showSeen(section), { passive: true });
    new ResizeObserver(() => view.showSeen(section)).observe(canvas);
  };
})(window.compatView);
