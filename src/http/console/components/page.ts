import { html, type Markup } from "#src/html/html.ts";
import { palettes } from "#src/html/tokens.ts";
import { samples } from "./samples.ts";

const sizes = {
  text: ["xs", "s", "m", "l", "xl", "2xl", "3xl"],
  space: ["3xs", "2xs", "xs", "s", "m", "l", "xl", "2xl", "3xl"],
  radius: ["s", "m", "l", "pill"],
} as const;

/** Every token and every component, each beside the HTML that makes it. */
export const componentsPage = (): Markup => html`<h1>Components</h1>
<p>What the pages are made of. The values have their names in <code>src/html/tokens.css</code>; this page follows your system's settings: switch them to see dark colours, more contrast, or no motion.</p>
<section aria-labelledby="colours"><h2 id="colours">Colours</h2>
<ul class="swatches">${Object.entries(palettes.light).map(
  ([name, light]) =>
    html`<li><span class="swatch ${name}"></span><code>--${name}</code><br><span class="meta">light ${light}, dark ${palettes.dark[name as keyof typeof palettes.dark]}</span></li>`,
)}</ul></section>
<section aria-labelledby="type"><h2 id="type">Type</h2>
${sizes.text.map((size) => html`<p class="type-${size}">A person keeps the last word <code>--text-${size}</code></p>`)}</section>
<section aria-labelledby="space"><h2 id="space">Space</h2>
<ul class="plain">${sizes.space.map((size) => html`<li><span class="gap space-${size}"></span> <code>--space-${size}</code></li>`)}</ul></section>
<section aria-labelledby="radius"><h2 id="radius">Radius</h2>
<ul class="swatches">${sizes.radius.map((size) => html`<li><span class="swatch card-${size}"></span><code>--radius-${size}</code></li>`)}</ul></section>
${samples().map(
  ({
    name,
    use,
    markup,
  }) => html`<section aria-labelledby="c-${name}"><h2 id="c-${name}">${name.replaceAll("-", " ")}</h2>
<p class="soft">${use}</p>
<div class="sample">${markup}</div>
<details><summary>HTML<span class="unseen"> of ${name}</span></summary><pre class="letter" tabindex="0"><code>${markup.markup.trim()}</code></pre></details></section>
`,
)}`;
