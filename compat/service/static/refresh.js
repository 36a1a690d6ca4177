// Asks for the page again every few seconds and puts what is new in the place of what is there.
"use strict";
(() => {
  const place = document.querySelector("[data-refresh]");
  const live = document.getElementById("live");
  if (!place || !live) return;
  const [button, told] = [place.querySelector("button"), place.querySelector("span")];
  const every = Number(place.dataset.refresh) * 1000;
  const LONGEST = 60_000;
  let on = true;
  let wait = every;
  let timer = null;

  place.hidden = false;
  say(`every ${every / 1000} s`);

  function say(text) {
    told.textContent = text;
  }

  function plan() {
    clearTimeout(timer);
    timer = on && !document.hidden ? setTimeout(ask, wait) : null;
  }

  // What somebody is in the middle of stays: a marked text, a part that has the focus.
  function busy() {
    return live.contains(document.activeElement) || (!getSelection().isCollapsed && live.contains(getSelection().anchorNode));
  }

  async function ask() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
        on = false;
        show();
        say("you are logged out: load the page again");
        return;
      }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      if (!answer.ok || !fresh) throw new Error(`status ${answer.status}`);
      if (!busy()) replace(fresh);
      wait = every;
      say(`as of ${new Date().toISOString().slice(11, 19)} UTC`);
    } catch (error) {
      wait = Math.min(LONGEST, wait * 2);
      say(`no answer (${error.message}); asked again in ${wait / 1000} s`);
    }
    plan();
  }

  function replace(fresh) {
    if (fresh.innerHTML === live.innerHTML) return;
    const scrolled = [...live.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
    const opened = new Set([...live.querySelectorAll("details[open][data-key]")].map((part) => part.dataset.key));
    const read = tails().map((part) => (atEnd(part) ? null : part.scrollTop));
    live.replaceChildren(...document.importNode(fresh, true).childNodes);
    live.querySelectorAll(".scroll").forEach((part, index) => {
      part.scrollLeft = scrolled[index] || 0;
    });
    for (const part of live.querySelectorAll("details[data-key]")) part.open = opened.has(part.dataset.key);
    tails().forEach((part, index) => {
      part.scrollTop = read[index] ?? part.scrollHeight;
    });
  }

  // Of a log, the end is shown, unless somebody has moved away from it.
  function tails() {
    return [...live.querySelectorAll("[data-tail]")];
  }

  function atEnd(part) {
    return part.scrollHeight - part.scrollTop - part.clientHeight < 8;
  }

  function show() {
    button.setAttribute("aria-pressed", String(on));
  }

  button.addEventListener("click", () => {
    on = !on;
    show();
    say(on ? `every ${every / 1000} s` : "stopped");
    if (on) ask();
    else plan();
  });
  for (const part of tails()) part.scrollTop = part.scrollHeight;
  document.addEventListener("visibilitychange", plan);
  plan();
})();
