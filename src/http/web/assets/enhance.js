// Enhancements that no page depends on, available on all pages:
//
//   <button type="button" data-copy="#dkim-value" hidden>Copy</button>
//       copies the text or value of that element; with data-copy="" that of the element before the button. Unhidden if copying works.
//   <time datetime="…">
//       shows the server's UTC time in the reader's time zone, with UTC on hover.
//   <div data-until="…ISO…" data-seconds="10"> … <span data-left>10</span> … </div>
//       counts down, and is hidden at the end. The server decides whether a click was in time.
//
// It also sets a cookie with the reader's time zone, and prevents forms from being sent twice.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `countersign_zone=${encodeURIComponent(zone)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  }

  const format = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  function freshenTimes(within) {
    for (const time of within.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.title = time.textContent.trim();
      time.textContent = format.format(at);
    }
  }

  function showCopyButtons(within) {
    if (!navigator.clipboard) return;
    for (const button of within.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  }
  document.addEventListener("click", async ({ target }) => {
    const button = target instanceof Element ? target.closest("[data-copy]") : null;
    if (!button) return;
    const of = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.previousElementSibling;
    if (!of) return;
    const label = button.textContent;
    const copied = await navigator.clipboard.writeText(of.value ?? of.textContent.trim()).then(
      () => "Copied",
      () => "Not copied",
    );
    button.textContent = copied;
    setTimeout(() => {
      button.textContent = label;
    }, 2_000);
  });

  // Counts down by duration, not by the clock: the reader's clock may be wrong.
  const ends = new WeakMap();
  function countDown() {
    for (const element of document.querySelectorAll("[data-until]")) {
      if (!ends.has(element)) ends.set(element, performance.now() + Number(element.dataset.seconds) * 1000);
      const left = Math.ceil((ends.get(element) - performance.now()) / 1000);
      const shown = element.querySelector("[data-left]");
      if (shown) shown.textContent = String(Math.max(0, left));
      // Do not hide it while it is pressed or focused.
      if (left <= 0) element.hidden = true;
    }
  }

  // Sends a form once: the second of two quick clicks is ignored.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  function enhance(within) {
    freshenTimes(within);
    showCopyButtons(within);
    countDown();
  }
  document.addEventListener("DOMContentLoaded", () => {
    enhance(document);
    setInterval(countDown, 500);
  });
  document.addEventListener("htmx:afterSettle", () => enhance(document));

  // Reports that this person is viewing the draft, while the page is visible.
  const look = () => {
    const form = document.getElementById("looking");
    if (form && document.visibilityState === "visible") htmx.trigger(form, "look");
  };
  document.addEventListener("DOMContentLoaded", () => {
    look();
    setInterval(look, 10_000);
  });
})();
