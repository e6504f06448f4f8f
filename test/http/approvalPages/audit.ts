/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** Runs inside the page: what keeps somebody from reading or pressing it (WCAG 2.2 AA, as far as a program sees). Self-contained, for it is sent as source. */
export function audit(): string[] {
  const found: string[] = [];
  const all = [...document.querySelectorAll<HTMLElement>("body *")].filter((element) => element.checkVisibility());

  if (document.documentElement.scrollWidth > window.innerWidth)
    found.push(`wider than the screen: ${document.documentElement.scrollWidth}`);
  if (document.documentElement.lang !== "en") found.push("no language");
  if (document.title === "") found.push("no title");
  if (document.querySelectorAll("main").length !== 1) found.push("no main landmark");

  const levels = all.filter((element) => /^H[1-6]$/.test(element.tagName)).map((heading) => Number(heading.tagName[1]));
  if (levels[0] !== 1 || levels.filter((level) => level === 1).length !== 1) found.push("not exactly one h1 in front");
  levels.forEach((level, index) => {
    if (level > (levels[index - 1] ?? 0) + 1) found.push(`a heading level is left out: ${levels.join()}`);
  });

  for (const element of all) {
    const { width, height } = element.getBoundingClientRect();
    if (element.matches("button, summary, a, textarea, input:not([type=hidden])") && (height < 43.5 || width < 44)) {
      found.push(`too small to press: ${element.textContent} ${width}x${height}`);
    }
    if (element.matches("textarea, input:not([type=hidden])") && !(element as HTMLInputElement).labels?.length)
      found.push("no label");
    if (element.matches("iframe") && !element.title) found.push("a frame without a title");
    const owns = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
    const contrast = owns ? contrastOf(element) : 21;
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${element.textContent?.slice(0, 40)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size < ids.length) found.push("an id twice");
  for (const section of document.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(section.getAttribute("aria-labelledby") ?? "")) found.push("labelled by nothing");
  }
  return found;

  function contrastOf(element: Element): number {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(groundOf(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }
  function groundOf(element: Element): string {
    for (let at: Element | null = element; at; at = at.parentElement) {
      const ground = getComputedStyle(at).backgroundColor;
      if (ground !== "rgba(0, 0, 0, 0)" && ground !== "transparent") return ground;
    }
    return "rgb(255, 255, 255)";
  }
  function luminance(colour: string): number {
    const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
}
