// Keyboard shortcuts for people who decide about many drafts. Active on pages with <details id="keys" data-keys>:
//
//   data-key="j" on a link                     follows the link
//   data-key="r" or "c" on a summary           opens it and focuses its text field
//   data-key="a" on another element            moves the focus there: Enter then presses it
//   data-key="a" data-at-once on a button      presses it
//
// A key presses nothing before the card (the element with data-card) is painted, within 400 ms after another card was shown, while it is
// held down, or after the draft changed. "?" opens the list of keys. Keys are ignored while the reader types, and with Ctrl, Alt or Meta.
// They can be switched off (WCAG 2.1.4); the setting is a cookie.
(() => {
  const cookie = "countersign_keys";
  const readMs = 400;
  const isOff = () => document.cookie.split("; ").includes(`${cookie}=off`);

  function turn(on) {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${cookie}=${on ? "on" : "off"}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
    label();
  }

  function label() {
    const button = document.querySelector("[data-keys-switch]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(!isOff()));
    button.textContent = isOff() ? "Turn shortcuts on" : "Turn shortcuts off";
  }

  // The card that the reader sees, and since when (ms of performance.now()).
  const cardNow = () => document.querySelector("[data-card]")?.dataset.card;
  let painted = { card: undefined, at: Number.POSITIVE_INFINITY };
  function afterPaint() {
    const card = cardNow();
    painted = { card, at: Number.POSITIVE_INFINITY };
    // The second frame begins after the first one was painted.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        painted = { card, at: performance.now() };
      }),
    );
  }
  const isRead = () =>
    cardNow() !== undefined &&
    painted.card === cardNow() &&
    performance.now() - painted.at >= readMs &&
    document.querySelector("#standing > *") === null;
  addEventListener("load", afterPaint);
  addEventListener("pageshow", ({ persisted }) => persisted && afterPaint());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && afterPaint());
  document.addEventListener("htmx:afterSettle", () => cardNow() !== painted.card && afterPaint());

  const isTyping = (target) =>
    target instanceof Element && target.closest("input, textarea, select, [contenteditable], dialog") !== null;

  document.addEventListener("keydown", (event) => {
    const help = document.querySelector("[data-keys]");
    if (!help || event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && event.target.closest?.("[data-key='a']") && (event.repeat || !isRead()))
      return event.preventDefault();
    if (isOff() || event.repeat || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (event.key === "?") return showKeys(help, event);
    const target = /^[a-z]$/.test(event.key) && document.querySelector(`[data-key="${event.key}"]`);
    if (!target) return;
    // Otherwise the letter would be typed into the newly focused field.
    event.preventDefault();
    if (target instanceof HTMLAnchorElement) return target.click();
    if (target.tagName === "SUMMARY") return open(target.parentElement);
    if (!target.hasAttribute("data-at-once")) return focus(target);
    if (isRead()) target.form.requestSubmit(target);
  });

  function open(details) {
    details.open = true;
    focus(details.querySelector("textarea") ?? details.querySelector("summary"));
  }

  function focus(element) {
    // The decision is always in view: the page need not scroll.
    const isInView = element.closest(".decision") !== null;
    element.focus({ preventScroll: isInView });
    if (!isInView) element.scrollIntoView({ block: "nearest" });
  }

  function showKeys(help, event) {
    event.preventDefault();
    help.open = !help.open;
    help.querySelector("summary").focus();
  }

  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("[data-keys-switch]")) turn(isOff());
  });

  // Scrolls the list, and not the page, to the draft that is shown.
  function showSelected() {
    const row = document.querySelector(".waiting [aria-current]");
    const list = row?.closest(".waiting");
    if (!list || list.scrollHeight <= list.clientHeight) return;
    const top = row.getBoundingClientRect().top - list.getBoundingClientRect().top;
    if (top < 0 || top + row.offsetHeight > list.clientHeight) list.scrollTop += top - list.clientHeight / 3;
  }
  document.addEventListener("htmx:afterSettle", showSelected);

  document.addEventListener("DOMContentLoaded", () => {
    const help = document.querySelector("[data-keys]");
    if (help) help.hidden = false;
    label();
    showSelected();
  });
})();
