import { black, contrast, type Luminance, linkBlue, markYellow, white } from "./colours.ts";
import { blockElements } from "./names.ts";

/** Text and background colours that an element's styles ask for. */
export type RequestedColours = { color: Luminance | undefined; ground: Luminance | undefined };

/** An element that changes colours, or whose text or marker is drawn specially. Other elements share the place around them. */
export type ColourScope = {
  readonly number: number;
  readonly element: string;
  readonly around: ColourScope | null;
  readonly wish: RequestedColours;
  /** Something visible is directly in this place. */
  shows: boolean;
  /** An inline element with a block in it: browsers do not draw its background behind that block. */
  parted: boolean;
  /** Colour of text here. */
  color: Luminance;
  background: Luminance;
  /** Colours of the lines under or through text here: each that of the element that draws it. */
  lines: readonly Luminance[];
  colorStays: boolean;
  groundStays: boolean;
  /** The innermost place around text here, including this one, whose own background stays. */
  grounded: ColourScope | null;
};

/**
 * The colours of one body. A text colour is removed if it cannot be told from its background. A background is removed if it would hide
 * text on it, and only there: the text and its colour may be nested further inside than the background.
 */
export class Backgrounds {
  readonly #places: ColourScope[] = [];
  readonly #gone: ReadonlySet<number>;

  readonly page: ColourScope = {
    number: -1,
    element: "",
    around: null,
    wish: { color: undefined, ground: undefined },
    shows: false,
    parted: false,
    color: black,
    background: white,
    lines: [],
    colorStays: false,
    groundStays: false,
    grounded: null,
  };

  /** `gone`: numbers of the places that lose their background. Places get the same numbers each time a body is read. */
  constructor(gone: ReadonlySet<number>) {
    this.#gone = gone;
  }

  /** Begins an element. Returns the place of its content. */
  begin(element: string, around: ColourScope, wish: RequestedColours): ColourScope {
    if (blockElements.has(element)) part(around);
    if (wish.color === undefined && wish.ground === undefined && !ofTheirOwn.has(element)) return around;
    const place = {
      ...this.page,
      number: this.#places.length,
      element,
      around,
      wish,
      shows: ofTheirOwn.get(element) === "shows",
    };
    this.#places.push(place);
    settle(place, around, this.#gone);
    return place;
  }

  /**
   * Returns the numbers of the places whose background has to be removed so that all text is readable. Call it after the whole body was
   * read. Removing one can put text on the next background, or in another colour, so it repeats until nothing changes. If that takes too
   * many rounds, all backgrounds are removed.
   */
  hiding(): ReadonlySet<number> {
    const grounds = this.#places.filter(({ wish }) => wish.ground !== undefined);
    const gone = new Set(grounds.filter(({ parted }) => parted).map(({ number }) => number));
    for (let round = 0; round < maxRounds; round++) {
      const before = gone.size;
      for (const { number } of this.#findHiding(gone)) gone.add(number);
      if (gone.size === before) return gone;
    }
    return new Set(grounds.map(({ number }) => number));
  }

  #findHiding(gone: ReadonlySet<number>): Set<ColourScope> {
    const found = new Set<ColourScope>();
    for (const place of this.#places) {
      const around = place.around ?? this.page;
      settle(place, around, gone);
      const hidden = place.shows && ![place.color, ...place.lines].every((color) => canBeRead(color, place.background));
      // The marker of a list item is outside the item.
      const hidesMarker = place.element === "li" && !canBeRead(place.color, around.background);
      // A block in marked text has what is behind the mark as its background. The page is bright enough for all that is readable on
      // yellow.
      const hidesMarked = place.element === "mark" && place.parted;
      if ((hidden || hidesMarker || hidesMarked) && place.grounded) found.add(place.grounded);
    }
    return found;
  }
}

/** Bounds the time; real bodies nest fewer backgrounds. */
const maxRounds = 20;

/**
 * Elements with special colours: links and marked text have their own, list items a marker, quotations their marks; a caption is outside
 * its table's background; lines through and under text have the colour of the element that draws them, whatever it contains.
 */
const ofTheirOwn: ReadonlyMap<string, "shows" | "draws" | "other"> = new Map([
  ...["li", "q"].map((name) => [name, "shows"] as const),
  ...["s", "del", "u", "ins"].map((name) => [name, "draws"] as const),
  ...["a", "mark", "table", "caption"].map((name) => [name, "other"] as const),
]);

/** True if the contrast is at least 2; below that text is hard to tell from its background. */
const canBeRead = (color: Luminance, background: Luminance): boolean => contrast(color, background) >= 2;

/** A block begins here: mark the inline elements around it as containing one. */
function part(around: ColourScope): void {
  for (
    let one: ColourScope | null = around;
    one?.around && !one.parted && !blockElements.has(one.element);
    one = one.around
  )
    one.parted = true;
}

/** Computes the colours of a place from those around it. */
function settle(place: ColourScope, around: ColourScope, gone: ReadonlySet<number>): void {
  const { element, wish } = place;
  const behind = element === "caption" ? (around.around ?? around) : around;
  place.groundStays = wish.ground !== undefined && !gone.has(place.number);
  place.grounded = place.groundStays ? place : around.grounded;
  place.background = element === "mark" ? markYellow : behind.background;
  if (place.groundStays) place.background = wish.ground ?? place.background;
  place.color = element === "a" ? linkBlue : element === "mark" ? black : around.color;
  place.colorStays = wish.color !== undefined && canBeRead(wish.color, place.background);
  if (place.colorStays) place.color = wish.color ?? place.color;
  const draws = ofTheirOwn.get(element) === "draws" && !around.lines.includes(place.color);
  place.lines = draws ? [...around.lines, place.color] : around.lines;
}
