// The keyboard: one stop for the whole picture, arrows from box to box, single keys for the rest.
"use strict";
((view) => {
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  view.startKeys = (actions) => {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const target = event.target;
      if (target.closest("input, textarea, select")) return;
      const node = target.closest(".canvas .node");
      if (node && ARROWS[event.key]) {
        move(node, ARROWS[event.key]);
        event.preventDefault();
        return;
      }
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action(node);
    });
  };

  // To the nearest box in a direction; what lies straight ahead is nearer than what lies aside.
  function move(node, [dx, dy]) {
    const here = centre(node);
    let best = null;
    let least = Infinity;
    for (const other of node.closest(".sheet").querySelectorAll(".node")) {
      if (other === node) continue;
      const there = centre(other);
      const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
      const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
      const far = ahead + aside * 3;
      if (ahead > 4 && far < least) [best, least] = [other, far];
    }
    if (best) view.focusNode(best);
  }

  function centre(node) {
    const { left, top, height } = node.getBoundingClientRect();
    return { x: left, y: top + height / 2 };
  }

  view.focusNode = (node) => {
    for (const other of node.closest(".sheet").querySelectorAll('.node[tabindex="0"]')) other.tabIndex = -1;
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
})(window.compatView);
