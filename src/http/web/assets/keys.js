// Single keys for who decides about many drafts. A page that has <details id="keys" data-keys> hears them:
//
//   data-key="j" on a link        the key follows the link
//   data-key="a" on anything else the key moves the focus there, and does nothing more: a decision takes a press of its own, on a button one sees
//
// "?" opens the list of keys, "r" goes to the field with the class "reason". Keys do nothing while somebody types, with Ctrl, Alt or Meta, and while one is held down. They can be switched off (WCAG 2.1.4);
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
    button.textContent = isOff() ? "Keys are off: turn them on" : "Keys are on: turn them off";
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
    // The letter itself is not typed into the field that gets the focus.
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
