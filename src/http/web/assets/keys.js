// Keyboard shortcuts for people who decide about many drafts. Active on pages with <details id="keys" data-keys>:
//
//   data-key="j" on a link            follows the link
//   data-key="a" on another element   only moves the focus there: a decision needs a separate click on a visible button
//
// "?" opens the list of keys, "r" focuses the field with the class "reason". Keys are ignored while the reader types, with Ctrl, Alt or
// Meta, and when repeated by holding them down. They can be switched off (WCAG 2.1.4);
// the setting is a cookie.
(() => {
  const cookie = "countersign_keys";
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
    button.textContent = isOff() ? "Keys are off: turn them on" : "Turn shortcuts off";
  }

  const isTyping = (target) =>
    target instanceof Element && target.closest("input, textarea, select, [contenteditable], dialog") !== null;

  document.addEventListener("keydown", (event) => {
    const help = document.querySelector("[data-keys]");
    if (!help || isOff() || event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (event.key === "?") return showKeys(help, event);
    if (!/^[a-z]$/.test(event.key)) return;
    const target =
      event.key === "r"
        ? document.querySelector("textarea.reason")
        : document.querySelector(`[data-key="${event.key}"]`);
    if (!target) return;
    // Otherwise the letter would be typed into the newly focused field.
    event.preventDefault();
    if (target instanceof HTMLAnchorElement) return target.click();
    target.focus();
    target.scrollIntoView({ block: "nearest" });
  });

  function showKeys(help, event) {
    event.preventDefault();
    help.open = !help.open;
    help.querySelector("summary").focus();
  }

  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("[data-keys-switch]")) turn(isOff());
  });
  document.addEventListener("DOMContentLoaded", () => {
    const help = document.querySelector("[data-keys]");
    if (help) help.hidden = false;
    label();
  });
})();
