import { expect } from "chai";
import { areAlsoIn } from "#src/mail/in/text/besideLines.ts";

describe("lines that a forwarder put into another mail too [d5 own_copy]", () => {
  const banner = ["[EXTERNAL]", "Mind the sender of this mail."];
  const notice = ["This mail is for its recipients alone.", "Acme Ltd"];
  const lines = { above: banner, below: notice };
  const mailWith = (...all: string[]): string => all.join("\r\n");

  const table: [what: string, other: string, above: boolean, below: boolean][] = [
    ["at both ends", mailWith(...banner, "", "Where is it?", "", ...notice), true, true],
    ["without blank lines", mailWith(...banner, "Where is it?", ...notice), true, true],
    [
      "with other blanks and breaks",
      mailWith(banner.join("  "), "Where?", "This mail is for", " its recipients alone.", "Acme Ltd"),
      true,
      true,
    ],
    ["above a rule", mailWith(...banner, "Where?", ...notice, "____", "sent by a list"), true, true],
    ["at the other end", mailWith(...notice, "", "Where?", "", ...banner), false, false],
    ["in the middle", mailWith("Hello,", ...banner, "Where?", ...notice, "Bob"), false, false],
    ["only in part", mailWith(banner[0]!, "Where?", notice[1]!), false, false],
    ["and nothing else", mailWith(...banner), false, false],
    ["and nothing else, below", mailWith(...notice), false, false],
    [
      "as the beginning of a longer line",
      mailWith(`${banner.join(" ")} Really?`, "x", `Note: ${notice.join(" ")}`),
      false,
      false,
    ],
    ["in an empty mail", "", false, false],
    ["among 50,000 lines", mailWith(...banner, ...Array(50_000).fill("----"), ...notice), true, true],
  ];
  for (const [what, other, above, below] of table)
    it(`lines ${what}: ${above ? "the forwarder's" : "somebody's word"}`, () => {
      expect(areAlsoIn(other, lines)).to.deep.equal({ above, below });
    });

  it("a word that another sender used somewhere else in a mail is not the forwarder's", () => {
    const other = "Hello,\n\nok, thanks\n\nBob";
    for (const word of ["ok", "thanks", "Bob, cancel it", "ok, thanks"])
      expect(areAlsoIn(other, { above: [word], below: [] }).above, word).to.equal(false);
    expect(areAlsoIn(other, { above: [], below: ["thanks"] }).below).to.equal(false);
  });
});
