// Finds operators by name, uid, id, user hash, kind or state, as a list that the keyboard walks.
"use strict";
((view) => {
  const { el } = view;
  const MOST = 12;

  view.startSearch = (section, choose) => {
    const input = section.element.querySelector('input[type="search"]');
    const list = section.element.querySelector(".hits");
    const index = view.SIDES.filter((side) => section.sides[side]).flatMap((side) =>
      section.sides[side].operators.map((item, place) => ({ side, place, item, text: text(item) })));
    let current = -1;

    function show() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const hits = words.length ? index.filter((entry) => words.every((word) => entry.text.includes(word))) : [];
      current = hits.length ? 0 : -1;
      list.replaceChildren(...hits.slice(0, MOST).map((hit, number) =>
        el("li", { role: "option", id: `${list.id}-${number}`, "aria-selected": String(number === current), "data-hit": `${hit.side}:${hit.place}` },
          section.kind === "check" ? el("b", {}, hit.side.toUpperCase()) : null, ` ${hit.item.name} `,
          el("span", { class: "dim" }, hit.item.uid === null ? hit.item.id.slice(0, 8) : `uid ${hit.item.uid}`))),
      ...(words.length && !hits.length ? [el("li", { role: "option", "aria-disabled": true, class: "dim" }, "No operator is called that.")] : []),
      ...(hits.length > MOST ? [el("li", { role: "option", "aria-disabled": true, class: "dim" }, `and ${hits.length - MOST} more`)] : []));
      open(words.length > 0);
    }

    function open(is) {
      list.hidden = !is;
      input.setAttribute("aria-expanded", String(is));
      mark();
    }

    function mark() {
      const hits = list.querySelectorAll("[data-hit]");
      hits.forEach((hit, number) => hit.setAttribute("aria-selected", String(number === current)));
      if (!list.hidden && hits[current]) input.setAttribute("aria-activedescendant", hits[current].id);
      else input.removeAttribute("aria-activedescendant");
    }

    function take(hit) {
      if (!hit) return;
      open(false);
      choose(hit.dataset.hit);
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", () => {
      if (input.value) show();
    });
    input.addEventListener("blur", () => open(false));
    input.addEventListener("keydown", (event) => {
      const count = list.querySelectorAll("[data-hit]").length;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (!count) return;
        current = (current + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
        mark();
      } else if (event.key === "Enter") take(list.querySelectorAll("[data-hit]")[current]);
      else if (event.key === "Escape") {
        input.value = "";
        open(false);
        input.blur();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    // Before the field loses the focus, so that the list is still there.
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      take(event.target.closest("[data-hit]"));
    });
  };

  function text(item) {
    const names = (item.states || []).map((state) => state.name);
    return [item.name, item.uid, item.id, item.user_hash, item.kind, ...names].filter(Boolean).join("\n").toLowerCase();
  }
})(window.compatView);
