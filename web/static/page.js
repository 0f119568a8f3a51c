/* The readers' pages: htmx asks, and this keeps the address in step, the place of the reader, and the keyboard.
   It has no words of its own. Without it every page works by links and forms. */
(function () {
  "use strict";

  const form = document.getElementById("search");
  const box = document.getElementById("query");
  const hits = document.getElementById("hits");
  const unanswered = document.getElementById("unanswered");
  const fresher = document.getElementById("fresher");
  const messages = document.getElementById("messages");
  const keys = document.getElementById("keys");
  let extended = false;
  let pressed = false;
  let asking = ""; // the id of what asked for the answer that is being put in place
  let top = null; // the message that was the first before older ones, and where it stood
  let seen = new Set(); // the hits before further ones

  document.addEventListener("pointerdown", function () { pressed = true; });
  for (const end of ["pointerup", "pointercancel", "dragend"]) document.addEventListener(end, function () { pressed = false; });

  function selecting(part) {
    const chosen = document.getSelection();
    return chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
  }

  /* ---- what htmx asks and puts in place */

  function unheard(event) {
    const asking = event.detail.elt;
    if (asking.href) location.assign(asking.href);
    else if (unanswered) unanswered.hidden = false;
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.id === "polling" && document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    const answer = event.detail.xhr;
    asking = event.detail.elt.id;
    if (answer.status < 300 && new URL(answer.responseURL).pathname === "/login") {
      event.preventDefault();
      location.reload(); // the sign-in has ended: the way to a new one leads back here
    } else if (answer.status >= 500 || [401, 403, 404, 429].includes(answer.status)) {
      event.preventDefault();
      unheard(event);
    } else if (unanswered) {
      unanswered.hidden = true;
    }
  });
  document.addEventListener("htmx:beforeSwap", function (event) {
    const from = event.detail.requestConfig.elt;
    if (from === form || from.id === "polling") event.detail.shouldSwap = true; // what is wrong with a query is said, too
    const first = messages && messages.firstElementChild;
    top = from.id === "to-older" && first ? { first, at: first.getBoundingClientRect().top } : null;
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, unheard);

  document.addEventListener("htmx:oobBeforeSwap", function (event) {
    const part = event.detail.target;
    if (!["notices", "hits", "asked"].includes(part.id)) return;
    const polled = asking === "polling";
    const same = part.innerHTML === event.detail.fragment.innerHTML;
    if (same || (polled && (pressed || selecting(hits))) || (polled && part === hits && extended)) event.detail.shouldSwap = false;
    else if (part === hits) extended = false;
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    const from = event.detail.requestConfig.elt; // the event's own is another when it was replaced meanwhile
    if (!event.detail.xhr.status || (from !== form && from.id !== "polling")) return;
    const now = document.querySelector("#asked [data-address]");
    if (from === form) history.replaceState(null, "", now.dataset.address);
    document.title = now.dataset.title;
    const again = document.getElementById("again");
    if (again) again.href = now.dataset.address;
    fresher.hidden = !(extended && !document.getElementById("polling") && from !== form);
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    if (top) {
      window.scrollBy({ top: top.first.getBoundingClientRect().top - top.at, behavior: "instant" });
      top = null;
    }
    const from = event.detail.requestConfig && event.detail.requestConfig.elt;
    if (hits && from && from !== form && from.href) {
      extended = true;
      const added = event.detail.target.isConnected ? event.detail.target.querySelector(".open") : null;
      const next = added || opens().find(function (one) { return !seen.has(one.id); });
      if (next) next.focus();
    }
  });
  document.addEventListener("htmx:beforeRequest", function () { seen = new Set(opens().map(function (one) { return one.id; })); });

  /* An input method's half-written word is not asked for. */
  if (form) {
    form.addEventListener("input", function (event) { if (event.isComposing) event.stopImmediatePropagation(); }, true);
    form.addEventListener("compositionend", function (event) { event.target.dispatchEvent(new Event("input", { bubbles: true })); });
  }

  /* ---- the place of the reader */

  function opens() {
    return Array.from(document.querySelectorAll("#hits .open"));
  }

  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named && named.matches(".open")) named.focus();
  if (named && named.id === "around") {
    const mark = named.querySelector("mark") || named;
    mark.scrollIntoView({ block: "center", behavior: "instant" });
    named.focus({ preventScroll: true });
  }

  /* ---- the keyboard */

  function move(step) {
    const all = messages ? Array.from(messages.children) : opens();
    if (!all.length) return;
    const at = all.findIndex(function (one) { return one === document.activeElement || one.contains(document.activeElement); });
    if (at === 0 && step < 0 && box) box.focus();
    else {
      const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
      next.focus({ preventScroll: true });
      (next.closest("li") || next).scrollIntoView({ block: "nearest" });
    }
  }

  function single() {
    try { return localStorage.getItem("single-keys") !== "off"; } catch { return true; }
  }

  const steps = { j: 1, k: -1 };
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || keys.open) return;
    const field = event.target.closest("input, select, textarea");
    const inHits = event.target.matches(".open");
    if ((event.key === "ArrowDown" && (event.target === box || inHits)) || (event.key === "ArrowUp" && inHits)) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape" && !field) {
      const back = document.getElementById("back");
      if (back) back.click();
      else if (box) box.focus();
    } else if (!field && single()) {
      const bound = event.key.length === 1 && document.querySelector('[aria-keyshortcuts="' + CSS.escape(event.key) + '"]');
      if (event.key in steps) move(steps[event.key]);
      else if (!bound) return;
      else if (bound === box) { box.focus(); box.select(); }
      else bound.click();
      event.preventDefault();
    }
  });

  const opener = document.getElementById("keys-open");
  const switchKeys = document.getElementById("single-keys");
  opener.hidden = false;
  opener.addEventListener("click", function () { keys.showModal(); });
  document.getElementById("keys-close").addEventListener("click", function () { keys.close(); });
  switchKeys.checked = single();
  switchKeys.addEventListener("change", function () {
    try { localStorage.setItem("single-keys", switchKeys.checked ? "on" : "off"); } catch { /* kept for this page only */ }
  });
})();
