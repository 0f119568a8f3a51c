/* Pages that follow what happens: htmx asks for the parts, and this decides whether they are put in place.
   A part that says the same stays as it is, so that nothing is announced, no focus is lost and no selection undone. */
(function () {
  "use strict";

  const follow = document.getElementById("follow");
  const word = document.getElementById("followed");
  const hold = document.getElementById("hold");
  if (!follow) return;

  let held = false;
  let pressed = false;
  let since = new Date();

  function time(date) {
    return date.toISOString().slice(11, 19) + " UTC";
  }

  function say(text, bad) {
    if (word.textContent !== text) word.textContent = text;
    word.classList.toggle("trouble", bad);
  }

  function fresh() {
    since = new Date();
    say(held ? "Held since " + time(since) : "Live", false);
  }

  function stale() {
    if (!held) say("Not up to date: no answer since " + time(since), true);
  }

  function selecting(part) {
    const chosen = document.getSelection();
    return chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
  }

  hold.hidden = false;
  fresh();
  hold.addEventListener("click", function () {
    held = !held;
    hold.setAttribute("aria-pressed", String(held));
    fresh();
  });
  document.addEventListener("pointerdown", function () { pressed = true; });
  for (const end of ["pointerup", "pointercancel", "dragend"]) document.addEventListener(end, function () { pressed = false; });

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (held || document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    const answer = event.detail.xhr;
    if (answer.status < 300 && new URL(answer.responseURL).pathname === "/login") {
      event.preventDefault();
      location.reload(); // the sign-in has ended: the way to a new one leads back here
    } else if (answer.status >= 400) {
      event.preventDefault();
      stale();
    } else {
      fresh();
    }
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, stale);

  document.addEventListener("htmx:oobBeforeSwap", function (event) {
    const part = event.detail.target;
    if (held || pressed || selecting(part) || part.innerHTML === event.detail.fragment.innerHTML) event.detail.shouldSwap = false;
  });

  const told = document.getElementById("told");
  if (told) {
    told.focus({ preventScroll: true });
    const here = new URL(location.href);
    here.searchParams.delete("did");
    here.searchParams.delete("count");
    history.replaceState(null, "", here);
  }
})();
