// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of a test file is what these are about.
import { expect } from "chai";
import { isTag, testTitles } from "../../scripts/support/testTitles.ts";

const text = `
import { expect } from "chai";

const plans = ["pro", "agency"];

describe("outer [1 POST /v1/things]", () => {
  describe(\`inner \${plans[0]}\`, function () {
    it("one [1 scopes]", async () => {});
    // it("gone [1 nothing]", () => {});
    it.skip("skipped [1 nothing]", () => {});
  });
  for (const plan of plans) {
    const tag = plan === "pro" ? \`[2 \${plan}]\` : \`[d1 \${plan}]\`;
    it(\`two \${tag} [1 422 invalid_request]\`, () => {
      expect("[1 nothing]").to.equal("");
    });
  }
  it(
    "on a line of its own",
    () => {},
  );
});
`;

describe("the titles of tests, read as text", () => {
  it("the titles read as text are those of tests that run, each with its describes", () => {
    expect(testTitles(text).map(({ title, under }) => [...under, title].join(" / "))).to.deep.equal([
      "outer [1 POST /v1/things] / inner ${plans[0]} / one [1 scopes]",
      "outer [1 POST /v1/things] / two pro [2 ${plan}] [d1 ${plan}] [1 422 invalid_request]",
      "outer [1 POST /v1/things] / on a line of its own",
    ]);
  });

  it("a template in a title stands for the words that its file has, and no others", () => {
    const { words } = testTitles(text)[0]!;
    expect(isTag("1 scopes", "1 scopes", words)).to.equal(true);
    expect(isTag("1 scopes", "1 scope", words)).to.equal(false);
    expect(isTag("2 ${plan}", "2 agency", words)).to.equal(true);
    expect(isTag("2 ${plan}", "2 builder_pack", words)).to.equal(false);
  });
});
