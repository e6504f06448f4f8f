// Refreshes parts of an open page when the server reports changes. Pages use it by attributes alone:
//
//   hx-get="…" hx-trigger="live:drafts from:body" hx-select="#list" hx-target="this" hx-swap="outerHTML"
//       refreshes this part of the page whenever a draft changed. Events: live:drafts, live:threads, live:domains and live:workspace.
//   data-announce
//       on an element with an id, or within one: screen readers announce its text, politely, when a refresh changes it.
//
// A refresh waits while the reader types in the part, or has the focus in a form of it: no input is lost, and the focus does not move.
(() => {
  const topics = ["drafts", "threads", "domains", "workspace"];
  const hiddenMs = 60_000;
  const againMs = 30_000;
  let source;
  let closing;
  let greeted = false;

  const isWanted = () => document.querySelector('[hx-trigger*="live:"]') !== null;
  const tell = (topic) => htmx.trigger(document.body, `live:${topic}`);

  function open() {
    clearTimeout(closing);
    if (source || !isWanted()) return;
    source = new EventSource("/console/events");
    // After a reconnection, refresh once everything that may have changed meanwhile.
    source.addEventListener("hello", () => {
      if (greeted) for (const topic of topics) tell(topic);
      greeted = true;
    });
    for (const topic of topics) source.addEventListener(topic, () => tell(topic));
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      closing = setTimeout(open, againMs);
    });
  }

  function close() {
    source?.close();
    source = undefined;
  }

  // Closes the stream of a hidden page after a minute: a session may hold only a few.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") return open();
    closing = setTimeout(close, hiddenMs);
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);

  // Input that the reader has begun.
  const isField = (element) => element?.matches?.("input:not([type=hidden]), textarea, select, [contenteditable]");
  const isEdited = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.tagName === "SELECT")
      return (
        field.selectedIndex !==
        Math.max(
          0,
          [...field.options].findIndex((option) => option.defaultSelected),
        )
      );
    return field.value !== field.defaultValue;
  };
  const isInUse = (element) =>
    (element.contains(document.activeElement) && isField(document.activeElement)) ||
    [...element.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isEdited);

  const postponed = new Set();
  function guard(event) {
    const { target } = event.detail;
    if (!(target instanceof Element) || !isInUse(target)) return;
    event.detail.shouldSwap = false;
    if (event.detail.requestConfig?.elt) postponed.add(event.detail.requestConfig.elt);
  }
  document.addEventListener("htmx:beforeSwap", guard);
  document.addEventListener("htmx:oobBeforeSwap", guard);
  document.addEventListener("focusout", () =>
    setTimeout(() => {
      for (const element of [...postponed]) {
        if (isInUse(element)) continue;
        postponed.delete(element);
        if (element.isConnected) for (const topic of topics) htmx.trigger(element, `live:${topic}`);
      }
    }, 300),
  );

  // One live region, present from the start, reads out texts that a refresh changed.
  const announcer = document.createElement("p");
  announcer.className = "unseen";
  announcer.setAttribute("role", "status");
  const said = new Map();
  const nameOf = (element) => element.id || element.closest("[id]")?.id || "";
  function remember(isNew) {
    for (const element of document.querySelectorAll("[data-announce]")) {
      const words = element.textContent.trim();
      if (isNew && words !== "" && said.get(nameOf(element)) !== words) announcer.textContent = words;
      said.set(nameOf(element), words);
    }
  }
  document.addEventListener("htmx:afterSettle", () => remember(true));

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(announcer);
    remember(false);
    open();
  });
})();
