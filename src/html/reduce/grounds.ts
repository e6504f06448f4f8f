import { black, contrast, type Luminance, linkBlue, markYellow, white } from "./colours.ts";
import { blockElements } from "./names.ts";

/** The text and ground colours that an element's styles ask for. */
export type Wish = { color: Luminance | undefined; ground: Luminance | undefined };

/** An element that changes colours, or whose text or marker is drawn in its own way. Other elements share the place around them. */
export type Place = {
  readonly number: number;
  readonly element: string;
  readonly around: Place | null;
  readonly wish: Wish;
  /** Something can be seen that is directly here. */
  shows: boolean;
  /** An inline element with a block in it: browsers do not draw its ground behind that block. */
  parted: boolean;
  /** How text looks here. */
  color: Luminance;
  background: Luminance;
  /** The colours of the lines under or through text here: each that of the element that draws it. */
  lines: readonly Luminance[];
  colorStays: boolean;
  groundStays: boolean;
  /** The innermost place around text here, this one included, whose own ground stays. */
  grounded: Place | null;
};

/**
 * The colours of one body. A text colour goes if it cannot be told from its ground. A ground goes if it would hide text that is on
 * it, and only there: text and its colour may be further inside than the ground.
 */
export class Grounds {
  readonly #places: Place[] = [];
  readonly #gone: ReadonlySet<number>;

  readonly page: Place = {
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

  /** `gone`: the numbers of the places that lose their ground. Places have the same numbers each time a body is read. */
  constructor(gone: ReadonlySet<number>) {
    this.#gone = gone;
  }

  /** An element begins. Answers where its content is. */
  begin(element: string, around: Place, wish: Wish): Place {
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
   * The numbers of the places whose ground has to go so that all text can be read. To be asked when the whole body has been read. A ground
   * that goes can leave text on the next one, or in another colour, so it looks until nothing changes. If that takes too long, all
   * grounds go.
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

  #findHiding(gone: ReadonlySet<number>): Set<Place> {
    const found = new Set<Place>();
    for (const place of this.#places) {
      const around = place.around ?? this.page;
      settle(place, around, gone);
      const hidden = place.shows && ![place.color, ...place.lines].every((color) => canBeRead(color, place.background));
      // The marker of a list item is beside the item.
      const hidesMarker = place.element === "li" && !canBeRead(place.color, around.background);
      // A block in marked text has what is behind the mark as its ground. The page is bright enough for all that can be read on yellow.
      const hidesMarked = place.element === "mark" && place.parted;
      if ((hidden || hidesMarker || hidesMarked) && place.grounded) found.add(place.grounded);
    }
    return found;
  }
}

/** Time grows with the length alone; real bodies have fewer grounds within each other. */
const maxRounds = 20;

/**
 * Links and marked text have colours of their own, list items a marker, quotations their signs; a caption is not on its table's ground; the
 * lines through and under text have the colour of the element that draws them, whatever is in it.
 */
const ofTheirOwn: ReadonlyMap<string, "shows" | "draws" | "other"> = new Map([
  ...["li", "q"].map((name) => [name, "shows"] as const),
  ...["s", "del", "u", "ins"].map((name) => [name, "draws"] as const),
  ...["a", "mark", "table", "caption"].map((name) => [name, "other"] as const),
]);

/** Colours that are nearer than this cannot be told apart with ease. */
const canBeRead = (color: Luminance, background: Luminance): boolean => contrast(color, background) >= 2;

/** A block begins here: the inline elements it is in have it in them. */
function part(around: Place): void {
  for (let one: Place | null = around; one?.around && !one.parted && !blockElements.has(one.element); one = one.around)
    one.parted = true;
}

/** Works out the colours of a place, where those around it are known. */
function settle(place: Place, around: Place, gone: ReadonlySet<number>): void {
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
