/**
 * A count of removals. `what` is `element:NAME`, `attribute:NAME`, `style:PROPERTY`, `comment`, `image:remote` or `link:SCHEME`, with
 * `other` for a name that is too long or invalid, or beyond the limit of kinds.
 */
export type Removed = { what: string; count: number };

const maxKinds = 60;

/** Counts removals, in a bounded number of kinds whatever the input contains. */
export class RemovalTally {
  readonly #counts = new Map<string, number>();

  element(name: string): void {
    this.#count("element", name);
  }
  attribute(name: string): void {
    this.#count("attribute", name);
  }
  style(property: string): void {
    this.#count("style", property);
  }
  link(scheme: string): void {
    this.#count("link", scheme);
  }
  remoteImage(): void {
    this.#add("image:remote");
  }
  comment(): void {
    this.#add("comment");
  }

  /** By name, so that equal removals give equal lists. */
  sorted(): Removed[] {
    return [...this.#counts]
      .map(([what, count]) => ({ what, count }))
      .sort((a, b) => (a.what < b.what ? -1 : a.what > b.what ? 1 : 0));
  }

  #count(kind: string, name: string): void {
    const what = `${kind}:${/^-?[a-z0-9][a-z0-9:_.+-]{0,39}$/.test(name) ? name : "other"}`;
    this.#add(this.#counts.has(what) || this.#counts.size < maxKinds ? what : `${kind}:other`);
  }

  #add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
