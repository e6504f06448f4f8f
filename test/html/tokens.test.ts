import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { type Colour, type Palette, palettes, tokensSheet } from "#src/html/tokens.ts";
import { root, textOf } from "#test/support/imports.ts";

/** Each text colour, and the backgrounds that it is used on. */
const read: Partial<Record<Colour, readonly Colour[]>> = {
  ink: ["page", "card", "added", "removed"],
  soft: ["page", "card"],
  link: ["page", "card"],
  approve: ["page", "card"],
  reject: ["page", "card"],
  caution: ["warning", "page", "card"],
  "on-button": ["approve", "reject", "link", "soft"],
};

function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The pairs of text and background below `least`. */
const unreadable = (palette: Palette, least: number): string[] =>
  Object.entries(read).flatMap(([text, grounds]) =>
    grounds
      .filter((ground) => contrast(palette[text as Colour], palette[ground]) < least)
      .map((ground) => `${text} on ${ground}: ${contrast(palette[text as Colour], palette[ground]).toFixed(2)}`),
  );

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));

const sheets = [
  ...filesIn("src", ".css").filter((path) => path !== "src/html/tokens.css"),
  "src/html/style.ts",
  "src/http/outbox/outboxPage.ts",
];

describe("the tokens of the look", () => {
  for (const look of ["light", "dark"] as const) {
    it(`each text colour reads at 4.5:1 and more on each of its backgrounds, ${look}`, () => {
      expect(unreadable(palettes[look], 4.5)).to.deep.equal([]);
    });
    it(`each text colour reads at 7:1 and more, and lines are seen at 3:1, for people who ask for more contrast, ${look}`, () => {
      const palette = palettes[`${look}WithContrast`];
      expect(unreadable(palette, 7)).to.deep.equal([]);
      expect(contrast(palette.line, palette.card)).to.be.at.least(3);
    });
  }

  it("nothing moves for people who ask for less motion", () => {
    expect(tokensSheet).to.match(/@media \(prefers-reduced-motion:reduce\)\{:root\{--pace:0s;?\}\}/);
    for (const path of sheets) {
      const moves = textOf(path).match(/(transition|animation)(-duration)?:[^;}]*/g) ?? [];
      expect(
        moves.filter((rule) => !rule.includes("var(--pace)")),
        path,
      ).to.deep.equal([]);
    }
  });

  it("no style sheet names a colour, a type size, a space or a radius that is not a token", () => {
    expect(sheets.length).to.be.above(10);
    const literal =
      /#[0-9a-f]{3,8}\b(?=[^{]*;)|rgb\(|font-size: ?[\d.]+rem|(?<!scroll-)(?:margin|padding|gap)[\w-]*: ?[^;}]*\drem|radius: ?[\d.]*[1-9]\d*px/g;
    for (const path of sheets) {
      const rules = textOf(path).replace(/(calc|clamp)\([^)]*\)/g, "");
      expect(rules.match(literal) ?? [], path).to.deep.equal([]);
    }
  });

  it("every token that a style sheet uses has a value", () => {
    for (const path of sheets) {
      const used = [...textOf(path).matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name);
      expect(
        used.filter((name) => !tokensSheet.includes(`${name}:`)),
        path,
      ).to.deep.equal([]);
    }
  });

  it("mail has no colour but those of the pages", () => {
    const mail = [...filesIn("src/channels/email", ".ts"), "src/mail/out/footer.ts"];
    for (const path of mail) expect(textOf(path).match(/#[0-9a-f]{6}\b/g) ?? [], path).to.deep.equal([]);
  });
});
