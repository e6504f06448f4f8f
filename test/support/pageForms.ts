/** Returns what a browser would post for the form with this action on a page: each name with its current values. */
export function formIn(page: string, action: string): Record<string, string[]> {
  const forms = [...page.matchAll(/<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs)];
  const inside = forms.find(([, of]) => decoded(of ?? "") === action)?.[2];
  if (inside === undefined) throw new Error(`the page has no form for ${action}`);
  const values: Record<string, string[]> = {};
  const add = (name: string, value: string) => {
    values[name] ??= [];
    values[name].push(value);
  };
  const controls = /<input([^>]*)>|<textarea([^>]*)>\n?(.*?)<\/textarea>|<select([^>]*)>(.*?)<\/select>/gs;
  for (const [, input, area, text, select, options] of inside.matchAll(controls)) {
    const tag = input ?? area ?? select ?? "";
    const name = attribute(tag, "name");
    if (name === undefined) continue;
    if (area !== undefined) add(name, decoded(text ?? ""));
    else if (select !== undefined) add(name, chosenOf(options ?? ""));
    else if (!["checkbox", "radio"].includes(attribute(tag, "type") ?? "") || / checked\b/.test(tag))
      add(name, attribute(tag, "value") ?? "");
  }
  return values;
}

function chosenOf(options: string): string {
  const all = [...options.matchAll(/<option([^>]*)>/g)].map(([, tag]) => tag ?? "");
  return attribute(all.find((tag) => / selected\b/.test(tag)) ?? all[0] ?? "", "value") ?? "";
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : decoded(value);
}

const decoded = (text: string): string =>
  text
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&amp;/g, "&");
