import { expect } from "chai";
import { requireGoodPassword } from "#src/commands/users/passwordRules.ts";
import { Rejected } from "#streams/decider.ts";

const email = "anna.lindqvist@harbour-logistics.example";

/** Returns why the password is refused; undefined if it is accepted. */
function reasonOf(password: string): string | undefined {
  try {
    requireGoodPassword(password, { email });
    return undefined;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    expect(error.code).to.equal("invalid_request");
    expect(error.details.field).to.equal("password");
    expect(error.message).not.to.include(password);
    return error.message;
  }
}

describe("a password", () => {
  const good = [
    "correct horse battery",
    "ein kleiner Igel im Garten",
    "vR7#pLq2!xZm",
    "密码很长而且只有我一个人知道",
    "394857201938 sixteen",
    "password of the harbour master's parrot",
  ];
  for (const password of good) {
    it(`the password ${password} is accepted`, () => {
      expect(reasonOf(password)).to.equal(undefined);
    });
  }

  const common = [
    "password1234",
    "P@ssw0rd2026!",
    "passwordpassword",
    "qwertyuiop12",
    "1qaz2wsx3edc",
    "aaaaaaaaaaaaaaaa",
    "abcabcabcabcabc",
    "123456789012",
    "Welcome2026!!",
    "iloveyou-12345",
    "Countersign2026",
    "admin admin admin",
    "zyxwvutsrqpo",
    "111111111111",
  ];
  for (const password of common) {
    it(`the password ${password} is refused, because many would try it`, () => {
      expect(reasonOf(password)).to.include("easy to guess");
    });
  }

  for (const password of ["anna.lindqvist", "Lindqvist-Anna-2026", "harbourlogistics1", "4nn4L1ndqv1st99", email]) {
    it(`the password ${password} is refused, because it is made of the address`, () => {
      expect(reasonOf(password)).to.include("made of your email address");
    });
  }

  it("a password has 12 to 256 characters, counted after normalisation", () => {
    const letters = "kvzjmwhdpxtgbnqflrsc";
    const of = (length: number) =>
      letters
        .repeat(13)
        .slice(0, length)
        .split("")
        .map((letter, n) => (n % 21 === 20 ? " " : letter))
        .join("");
    expect(reasonOf(letters.slice(0, 11))).to.include("12 to 256");
    expect(reasonOf(letters.slice(0, 12))).to.equal(undefined);
    const own = (length: number) => `my own words: ${of(length - 14)}`;
    expect(reasonOf(own(256))).to.equal(undefined);
    expect(reasonOf(own(257))).to.include("12 to 256");
    // This password has eleven characters as typed and more as compared; the next one is the reverse.
    expect(reasonOf("\ufb03 kvzjmwhdp")).to.equal(undefined);
    expect(reasonOf(`${"u\u0308".repeat(6)}kvzjm`)).to.include("12 to 256");
    expect(reasonOf("\ufdfa".repeat(20))).to.include("12 to 256");
  });

  it("a password of 10 kB is refused by its length alone", () => {
    expect(reasonOf("kvz ".repeat(2_560))).to.include("12 to 256");
    expect(reasonOf("\ufdfa".repeat(10_000))).to.include("12 to 256");
  });
});
