const tag = /<(\/?)([a-z][^\s/>]{0,30})/gi;

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(" "));
const empty = setOf("area base br col embed hr img input link meta param source track wbr");
const cells = setOf("td th");
const rows = setOf("td th tr");
const rowGroups = setOf("td th tr tbody thead tfoot");
const terms = setOf("dt dd");

/** Elements that people leave unclosed, with the open elements that each one closes when it begins. */
const ends = new Map<string, ReadonlySet<string>>([
  ["p", setOf("p")],
  ["li", setOf("li")],
  ["option", setOf("option")],
  ["dt", terms],
  ["dd", terms],
  ["td", cells],
  ["th", cells],
  ["tr", rows],
  ["tbody", rowGroups],
  ["thead", rowGroups],
  ["tfoot", rowGroups],
]);

/** True if elements are nested more than `limit` deep, as an HTML parser sees it. Linear in the length of the HTML. */
export function isDeeperThan(html: string, limit: number): boolean {
  const open: string[] = [];
  for (const [, slash, written] of html.matchAll(tag)) {
    const name = written!.toLowerCase();
    if (empty.has(name)) continue;
    if (slash) {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.length = at;
      continue;
    }
    while (open.length > 0 && ends.get(name)?.has(open.at(-1)!)) open.pop();
    if (open.push(name) > limit) return true;
  }
  return false;
}
