// What changes while a page is open. Other pages use it without a script of their own:
//
//   hx-get="…" hx-trigger="live:drafts from:body" hx-select="#list" hx-target="this" hx-swap="outerHTML"
//       asks for this part of the page again whenever a draft changed. There are live:drafts, live:threads, live:domains and live:workspace.
//   data-announce
//       on an element with an id, or within one: when its words change by such a refresh, they are read out, politely.
//
// A refresh waits while somebody types in what it would replace, or has the focus in a form of it: nothing typed is lost, no focus moves.
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
    // Whatever happened while nobody listened is looked up once.
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

  // A page that nobody looks at holds no stream for long: a session has few.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") return open();
    closing = setTimeout(close, hiddenMs);
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);

  // What is being typed.
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

  // Words that changed by themselves are read out: one region for all, which is there from the start.
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
