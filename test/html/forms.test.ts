import { expect } from "chai";
import { errorAt, field, withErrorSummary } from "#src/html/forms.ts";

describe("the summary of a refused form", () => {
  const password = (refused: Parameters<typeof errorAt>[0], id = "password") =>
    field({ name: "password", id, label: "Password", error: errorAt(refused, "password") });
  const times = (markup: string, words: string) => markup.split(words).length - 1;

  it("the sentence of a refusal is on the page once, at its field, and the summary leads there", () => {
    const refused = { field: "password", message: "password: expected 12 to 256 characters" };
    for (const id of ["password", "email-password"]) {
      const { markup } = withErrorSummary(refused, password(refused, id));
      expect(times(markup, "Expected 12 to 256 characters.")).to.equal(1);
      expect(markup).to.include(`id="${id}-error">Expected 12`);
      expect(markup).to.match(new RegExp(`role="alert"[^]*href="#${id}"[^]*<div class="field">`));
      expect(markup).not.to.include("password: ");
    }
  });

  it("a refusal about no field of the form is told in the summary", () => {
    for (const [refused, words] of [
      [{ field: "token", message: "token: unknown field" }, "token: unknown field."],
      [{ message: "this link was used" }, "This link was used."],
    ] as const) {
      const { markup } = withErrorSummary(refused, password(refused));
      expect(times(markup, words)).to.equal(1);
      expect(markup).to.include(`</strong> ${words}`).and.not.to.include("href");
    }
  });

  it("a refusal about a part of a field stands at the field, and strangers' words in it are escaped", () => {
    const refused = { field: "password[2]", message: "password[2]: <b>no</b> address" };
    const { markup } = withErrorSummary(refused, password(refused));
    expect(times(markup, "&lt;b&gt;no&lt;/b&gt; address.")).to.equal(1);
    expect(markup).to.include('href="#password"');
  });

  it("a form that was not refused has no summary", () => {
    expect(withErrorSummary(undefined, "as it is").markup).to.equal("as it is");
  });
});
